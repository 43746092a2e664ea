// Any bytes as tokenizer.json, vocab.json and rank file: an error or a tokenizer that encodes.
#include "learn/tokenizers/load/loaders.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto parts =
      is_tiktoken(text) ? read_tiktoken(text, "fuzz", {}) : read_tokenizer_json(text, "fuzz");
  if (!parts.ok()) return 0;
  auto tokenizer = Tokenizer::make(std::move(parts).value());
  if (!tokenizer.ok()) return 0;
  const auto ids = tokenizer->encode("the <s> 12\xff don't \xe4\xb8\xad e\xcc\x81");
  (void)tokenizer->decode(ids);
  (void)tokenizer->encode_pair("a", "b");
  (void)tokenizer_json(*tokenizer);
  return 0;
}
