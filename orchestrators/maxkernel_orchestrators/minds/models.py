"""Speakers that are hosted or local language models, through pydantic-ai: ``provider:model`` and ``openai:MODEL@URL``.

pydantic-ai is imported when such an author is chosen, never before. One call is one exchange: no retries here and none
in the provider's SDK, so that every fault is seen and counted.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio

from maxkernel_orchestrators.minds.keys import find_key, require_key
from maxkernel_orchestrators.minds.prices import Price, price_of
from maxkernel_orchestrators.minds.speaking import FaultKind, Reply, SpeakerFaultError
from maxkernel_tools.errors import MisuseError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

PROVIDERS: Final = ("anthropic", "openai", "google", "ollama")
OLLAMA_URL: Final = "http://localhost:11434/v1"
ANSWER_TOKENS: Final = 32_000
"""Longest answer asked for, thinking included: a kernel of 250 lines has about 5,000."""
TIMEOUT_S: Final = 300.0
_CHARACTERS_PER_TOKEN: Final = 2.5  # fewer than any tokeniser needs for English or code, so that a count is not too low


@dataclass(frozen=True)
class ModelName:
    """A model as settings name it: ``provider:model``, with ``@URL`` for a server of one's own."""

    provider: str
    model: str
    url: str = ""

    @classmethod
    def parse(cls, author: str) -> ModelName:
        """Read ``author``.

        Raises:
            MisuseError: provider, model or URL is missing or not one.
        """
        provider, _, rest = author.partition(":")
        model, at, url = rest.partition("@")
        parts = urlsplit(url)
        if provider not in PROVIDERS or not model or (at and not (parts.scheme in {"http", "https"} and parts.netloc)):
            raise MisuseError(
                f"{author!r} names no model.",
                allowed="anthropic:MODEL, openai:MODEL, google:MODEL, ollama:MODEL, or openai:MODEL@http://HOST/v1 for "
                "any server that speaks OpenAI's protocol.",
                action="Correct the author.",
            )
        return cls(provider, model, url)


class ModelSpeaker:
    """Asks one model.

    Args:
        name: as settings name it.
        model: the model.
        price: what it costs; None where nobody here knows.
        secret: the key, which is taken out of every word that comes back.
        timeout_s: how long one answer may take.
        answer_tokens: how long it may be.
    """

    def __init__(
        self,
        name: str,
        model: Model,
        price: Price | None,
        secret: str,
        *,
        timeout_s: float = TIMEOUT_S,
        answer_tokens: int = ANSWER_TOKENS,
    ) -> None:
        self.name = name
        self._model, self._price, self._secret = model, price, secret
        self._timeout_s, self._answer_tokens = timeout_s, answer_tokens

    @property
    def priced(self) -> bool:
        """Whether the price table holds the model."""
        return self._price is not None

    async def say(self, role: str, prompt: str) -> Reply:  # noqa: ARG002 - the prompt says which role it is
        """Stream the answer and return it whole."""
        from pydantic_ai.direct import model_request_stream  # noqa: PLC0415 - an optional extra
        from pydantic_ai.exceptions import AgentRunError  # noqa: PLC0415 - likewise
        from pydantic_ai.messages import ModelRequest, UserPromptPart  # noqa: PLC0415 - likewise

        request = ModelRequest(parts=[UserPromptPart(content=prompt)])
        try:
            with anyio.fail_after(self._timeout_s):
                async with model_request_stream(
                    self._model,
                    [request],
                    model_settings={"max_tokens": self._answer_tokens, "timeout": self._timeout_s},
                ) as stream:
                    async for _ in stream:
                        pass
                    response = stream.get()
        except TimeoutError as error:
            raise SpeakerFaultError(
                f"no answer within {self._timeout_s:g} s", "timeout", spent=self._at_most(prompt)
            ) from error
        except AgentRunError as error:
            raise self._fault(error, prompt) from error
        except ValueError as error:
            # A body that is not JSON, or not of the provider's form: what a proxy sends when it is out of its depth.
            raise SpeakerFaultError(
                f"the server's answer cannot be read: {self._clean(str(error))}",
                "server-error",
                spent=self._at_most(prompt),
            ) from error
        return self._reply(response, prompt)

    def _reply(self, response: ModelResponse, prompt: str) -> Reply:
        """Judge whether the answer is whole and an answer at all."""
        usage = response.usage
        text = self._clean("".join(part.content for part in response.parts if part.part_kind == "text"))
        counted = bool(usage.input_tokens or usage.output_tokens)
        spent = self._cost(usage.input_tokens, usage.output_tokens) if counted else self._at_most(prompt)
        reply = spent.model_copy(update={"text": text})
        tools = [part.tool_name for part in response.parts if part.part_kind == "tool-call"]
        if tools:
            names = ", ".join(sorted(set(tools)))[:200]
            raise SpeakerFaultError(
                f"it called a tool that does not exist here ({names}); no tools are offered", "wrong-tool", spent=reply
            )
        if response.finish_reason == "content_filter":
            raise SpeakerFaultError("the provider withheld the answer (content filter)", "refusal", spent=reply)
        if response.finish_reason == "length":
            raise SpeakerFaultError(
                f"the answer was cut off at {self._answer_tokens} tokens; a shorter one is needed",
                "too-long",
                spent=reply,
            )
        if response.finish_reason is None or response.finish_reason == "error":
            raise SpeakerFaultError("the stream ended before the answer did", "truncated", spent=reply)
        if text.strip() and not text.strip().startswith(("{", "```")) and "{" not in text and _declines(text):
            raise SpeakerFaultError(f"it declined: {text.strip()[:300]}", "refusal", spent=reply)
        return reply

    def _fault(self, error: Exception, prompt: str) -> SpeakerFaultError:
        kind, words, billed = _kind_of(error)
        said = self._clean(str(error))[:600] if kind != "rejected" else ""
        # What broke off under way may have been worked on, and charged; what was turned away at the door was not.
        spent = self._at_most(prompt) if billed else None
        retry_after = getattr(error, "retry_after", None)
        return SpeakerFaultError(f"{words}{': ' + said if said else ''}", kind, retry_after_s=retry_after, spent=spent)

    def _cost(self, input_tokens: int, output_tokens: int) -> Reply:
        usd = self._price.of(input_tokens, output_tokens) if self._price else None
        return Reply(text="", input_tokens=input_tokens, output_tokens=output_tokens, usd=usd)

    def _at_most(self, prompt: str) -> Reply:
        """What an exchange that was not counted can have cost at most."""
        return self._cost(math.ceil(len(prompt) / _CHARACTERS_PER_TOKEN), self._answer_tokens)

    def _clean(self, text: str) -> str:
        return text.replace(self._secret, "[key]") if len(self._secret) >= 8 else text


def _kind_of(error: Exception) -> tuple[FaultKind, str, bool]:
    """The kind of a provider's failure, in words, and whether it may have been charged."""
    from pydantic_ai import exceptions as known  # noqa: PLC0415 - an optional extra

    if isinstance(error, known.ModelAuthenticationError):
        return "rejected", "the provider refused the key; check it, and that it may use this model", False
    if isinstance(error, known.ModelNotFoundError):
        return "rejected", "the provider knows no such model, or the address is wrong", False
    if isinstance(error, known.ModelQuotaExceededError):
        return "rejected", "the account's quota or credit is used up", False
    if isinstance(error, known.ModelContextWindowExceededError):
        return "overflow", "the prompt is longer than the model's context", False
    if isinstance(error, known.ModelRateLimitError):
        return "rate-limit", "the provider asks to wait", False
    if isinstance(error, known.ModelTimeoutError | known.ModelRequestTimeout):
        return "timeout", "the provider did not answer in time", True
    if isinstance(error, known.ModelConnectionError):
        under_way = error.phase not in {"pool", "connect"}
        return ("truncated" if under_way else "connection"), "the connection failed", under_way
    if isinstance(error, known.ModelUnavailableError | known.ModelServerError):
        return "server-error", "the provider failed", bool(getattr(error, "in_stream", False))
    if isinstance(error, known.ContentFilterError):
        return "refusal", "the provider withheld the answer", True
    if isinstance(error, known.ModelRequestRejectedError):
        return "rejected", "the provider turned the request down", False
    if "finish_reason" in str(error) or "without content" in str(error):
        return "truncated", "the stream ended before the answer did", True
    return "server-error", "the provider's answer cannot be used", True


_DECLINING: Final = ("i can't", "i cannot", "i can’t", "i'm unable", "i am unable", "i won't", "i'm sorry", "sorry,")


def _declines(text: str) -> bool:
    return text.strip().lower().startswith(_DECLINING)


def model_speaker(
    author: str,
    environment: Mapping[str, str] | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
    answer_tokens: int = ANSWER_TOKENS,
) -> ModelSpeaker:
    """Return the speaker ``author`` names.

    Raises:
        MisuseError: it names no model, the extra is not installed, or there is no key.
    """
    name = ModelName.parse(author)
    if importlib.util.find_spec("pydantic_ai") is None:
        raise MisuseError(
            f"The author {author!r} needs the extra 'agent', which is not installed.",
            allowed="builtin, which needs nothing; any provider with the extra.",
            action="pip install 'maxkernel-mcp[agent]'.",
        )
    model, secret = _MAKERS[name.provider](name, environment)
    price = None if name.url or name.provider == "ollama" else price_of(name.provider, name.model)
    return ModelSpeaker(author, model, price, secret, timeout_s=timeout_s, answer_tokens=answer_tokens)


def _openai(name: ModelName, environment: Mapping[str, str] | None) -> tuple[Model, str]:
    from openai import AsyncOpenAI  # noqa: PLC0415 - an optional extra
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - likewise
    from pydantic_ai.profiles import merge_profile  # noqa: PLC0415 - likewise
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415 - likewise
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - likewise

    if name.url:
        key = find_key("compatible", environment) or ""
        client = AsyncOpenAI(base_url=name.url, api_key=key or "none", max_retries=0)
    else:
        key = require_key("openai", environment)
        client = AsyncOpenAI(api_key=key, max_retries=0)
    # By default a stream that breaks off counts as an answer that is complete.
    strict = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    profile = merge_profile(OpenAIProvider.model_profile(name.model), strict)
    return OpenAIChatModel(name.model, provider=OpenAIProvider(openai_client=client), profile=profile), key


def _ollama(name: ModelName, environment: Mapping[str, str] | None) -> tuple[Model, str]:
    from openai import AsyncOpenAI  # noqa: PLC0415 - an optional extra
    from pydantic_ai.models.ollama import OllamaModel  # noqa: PLC0415 - likewise
    from pydantic_ai.profiles import merge_profile  # noqa: PLC0415 - likewise
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415 - likewise
    from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415 - likewise

    key = find_key("ollama", environment) or ""
    client = AsyncOpenAI(base_url=name.url or OLLAMA_URL, api_key=key or "none", max_retries=0)
    strict = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    profile = merge_profile(OllamaProvider.model_profile(name.model), strict)
    return OllamaModel(name.model, provider=OllamaProvider(openai_client=client), profile=profile), key


def _anthropic(name: ModelName, environment: Mapping[str, str] | None) -> tuple[Model, str]:
    from anthropic import AsyncAnthropic  # noqa: PLC0415 - an optional extra
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - likewise
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - likewise

    key = require_key("anthropic", environment)
    client = AsyncAnthropic(api_key=key, base_url=name.url or None, max_retries=0)
    return AnthropicModel(name.model, provider=AnthropicProvider(anthropic_client=client)), key


def _google(name: ModelName, environment: Mapping[str, str] | None) -> tuple[Model, str]:
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - an optional extra
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415 - likewise

    key = require_key("google", environment)
    return GoogleModel(name.model, provider=GoogleProvider(api_key=key, base_url=name.url or None)), key


_MAKERS: Final = {"openai": _openai, "ollama": _ollama, "anthropic": _anthropic, "google": _google}
