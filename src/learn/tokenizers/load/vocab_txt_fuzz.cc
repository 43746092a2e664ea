// Any bytes as vocab.txt: an error or a tokenizer whose tokenizer.json gives the same ids.
#include "learn/tokenizers/load/loaders.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TokenizerConfig config;
  if (size % 2) config.lowercase = false;
  auto parts = read_vocab_txt(bytes, "fuzz", config);
  if (!parts.ok()) return 0;
  const Tokenizer tokenizer = Tokenizer::make(std::move(parts).value()).value();
  const std::string text =
      "The [MASK] 12\xff don't \xe4\xb8\xad e\xcc\x81 " + std::string(bytes.substr(0, 200));
  const auto ids = tokenizer.encode(text);
  (void)tokenizer.decode(ids);
  (void)tokenizer.encode_pair("a", "b");
  auto again = read_tokenizer_json(tokenizer_json(tokenizer), "written");
  if (!again.ok()) __builtin_trap();
  if (Tokenizer::make(std::move(again).value()).value().encode(text) != ids) __builtin_trap();
  return 0;
}
