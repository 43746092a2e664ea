// Any bytes as tokenizer.model: an error or a tokenizer whose texts come back.
#include "learn/tokenizers/load/loaders.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TokenizerConfig config;
  if (size % 2) config.tokenizer_class = "LlamaTokenizer";
  auto parts = read_sentencepiece(bytes, "fuzz", config);
  if (!parts.ok()) return 0;
  auto tokenizer = Tokenizer::make(std::move(parts).value());
  if (!tokenizer.ok()) return 0;
  const auto ids = tokenizer->encode("the <s> 12\xff don't \xe4\xb8\xad  e\xcc\x81");
  (void)tokenizer->decode(ids);
  (void)tokenizer->encode_pair("a", "b");
  auto again = read_tokenizer_json(tokenizer_json(*tokenizer), "written");
  if (!again.ok()) __builtin_trap();
  return 0;
}
