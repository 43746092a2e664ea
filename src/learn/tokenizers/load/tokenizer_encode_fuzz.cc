// Any bytes as text: byte-level tokenizers give every byte back, whatever splits it.
#include <cstdio>
#include <cstdlib>

#include "base/unicode/unicode.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/text/scanners.h"

namespace hone {
namespace {

// The bytes, and a merge for each of a few frequent pairs.
Tokenizer tiny(const std::string& pre_tokenizer) {
  BpeParts bpe;
  std::string spelled;
  for (int b = 0; b < 256; ++b) {
    spelled.clear();
    append_utf8(spelled, byte_to_char(static_cast<uint8_t>(b)));
    (void)bpe.vocabulary.add(spelled, b);
  }
  for (const char* pair : {"t h", "th e", "Ġ the", "a a", "aa aa", "Ġ Ġ", "Ġ ĠĠ", "e e", "1 2"}) {
    const std::string_view p(pair);
    const size_t space = p.find(' ');
    (void)bpe.vocabulary.add(std::string(p.substr(0, space)) + std::string(p.substr(space + 1)),
                             bpe.vocabulary.id_limit());
    bpe.merges.push_back(
        resolve_merge(bpe.vocabulary, p.substr(0, space), p.substr(space + 1), "").value());
  }
  TokenizerParts parts;
  (void)make_stages(byte_level_stages("null", pre_tokenizer, "null"), parts);
  parts.model = make_bpe(std::move(bpe)).value();
  AddedToken end;
  end.content = "<|e|>";
  parts.added.add(end, parts.model->vocabulary(), nullptr);
  return Tokenizer::make(std::move(parts)).value();
}

// Steps that split the letters of the bytes, as Falcon's.
constexpr const char* kStepsOnLetters =
    R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Contiguous"},)"
    R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":true},)"
    R"({"type":"Digits","individual_digits":false},)"
    R"({"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated","invert":false}]})";

}  // namespace
}  // namespace hone

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  static const std::vector<Tokenizer> tokenizers = {
      tiny(byte_level_json(false, true)), tiny(split_then_bytes_json(kCl100kPattern, false)),
      tiny(split_then_bytes_json(kQwen2Pattern, false)),
      tiny(split_then_bytes_json(R"(\p{Lu}\p{Ll}+|\s+(?!\S)|[^\s\p{L}]{2})", false)),
      tiny(kStepsOnLetters)};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Tokenizer& t : tokenizers) {
    const auto ids = t.encode(text);
    StreamingDecoder stream(t, false);
    std::string streamed;
    for (const int32_t id : ids) streamed += stream.push(id);
    streamed += stream.finish();
    if (t.decode_bytes(ids) != text || streamed != lossy_utf8(text)) {
      std::fprintf(stderr, "a text of %zu bytes does not come back\n", size);
      std::abort();
    }
  }
  return 0;
}
