// Any bytes as a charsmap: an error, or replacements that stay inside it, by both ways of using it.
#include "base/unicode/base64.h"
#include "learn/tokenizers/stages/sentencepiece_normalizer.h"
#include "learn/tokenizers/text/charsmap.h"
#include "learn/tokenizers/text/json_dom.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto map = Charsmap::parse(bytes);
  if (!map.ok()) return 0;
  const std::string text = "the \xff  \xef\xac\x81\xcc\x81\r\n\xe3\x80\x80 " +
                           std::string(bytes.substr(bytes.size() / 2, 100));
  std::string buffer;
  const auto normalizer =
      make_sentencepiece_normalizer({std::move(map).value(), {"<sep>"}, true, size % 2 == 0});
  (void)normalizer->normalize(text, buffer);
  const std::string json =
      "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"" + encode_base64(bytes) + "\"}";
  const JsonDocument spec = JsonDocument::parse(json, "fuzz").value();
  auto precompiled = make_normalizer({spec.root(), "fuzz"}, {});
  if (!precompiled.ok()) __builtin_trap();
  (void)(*precompiled)->normalize(text, buffer);
  return 0;
}
