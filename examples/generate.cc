// Continues prompts given as token ids, and shows the new ids and their text:  generate MODEL
#include <hone.h>

#include <iostream>
#include <memory>
#include <vector>

int main(int argc, char** argv) {
  std::unique_ptr<hone_model, void (*)(hone_model*)> model(
      argc > 1 ? hone_open(argv[1], R"({"threads": 1, "batch_size": 2})") : nullptr, hone_close);
  if (!model) return std::cerr << "generate MODEL\n" << hone_error() << "\n", 1;
  std::vector<int32_t> first(64), second = {11, 12, 13};
  first.resize(hone_tokenize(model.get(), "the cat sat", first.data(), first.size()));
  const hone_tokens prompts[] = {{first.data(), int64_t(first.size())},
                                 {second.data(), int64_t(second.size())}};
  std::unique_ptr<hone_batch, void (*)(hone_batch*)> batch(
      hone_generate(model.get(), prompts, 2, R"({"max_new_tokens": 4})"), hone_batch_free);
  if (!batch) return std::cerr << hone_error() << "\n", 1;
  for (int64_t i = 0; i < hone_batch_size(batch.get()); ++i) {
    const hone_tokens tokens = hone_batch_tokens(batch.get(), i);
    for (int64_t k = 0; k < tokens.count; ++k) std::cout << tokens.ids[k] << ' ';
    std::cout << '|' << hone_batch_text(batch.get(), i) << '\n';
  }
}
