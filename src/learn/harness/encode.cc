#include "learn/harness/encode.h"

#include <mutex>
#include <optional>

#include "learn/harness/errors.h"

namespace hone {

Result<const Tokenizer*> tokenizer_of(const Pretrained& model) {
  if (model.tokenizer) return &*model.tokenizer;
  return Error(err::kNoTokenizer, fmt::format("the model '{}' has no tokenizer", model.name))
      .todo("name one by --tokenizer_name");
}

Status encode_texts(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::string_view> first,
                    std::span<const std::string_view> second,
                    FunctionRef<void(size_t i, const Encoding& row)> take) {
  const TruncateOptions cut = tokenizer.truncate_options(Truncation::longest_first, max_length);
  std::optional<Error> failed;
  std::mutex mutex;
  pool.parallel_for(static_cast<int64_t>(first.size()), [&](int64_t begin, int64_t end, int) {
    Encoding row;
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const auto pair =
          second.empty() ? std::optional<std::string_view>() : std::optional(second[i]);
      Status done = tokenizer.encode_to(first[i], pair, row, {}, cut);
      if (!done.ok()) {
        const std::lock_guard lock(mutex);
        failed = std::move(done.error());
        return;
      }
      take(i, row);
    }
  });
  if (failed) return std::move(*failed);
  return Ok{};
}

Status encode_words(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::vector<std::string>> rows, std::span<EncodedWords> out) {
  const TruncateOptions cut = tokenizer.truncate_options(Truncation::longest_first, max_length);
  const int64_t special = tokenizer.special_token_count(false),
                after = tokenizer.special_tokens_after();
  HONE_TRY(kept_lengths(1, {}, special, cut));  // else no row fits at all
  const auto most = static_cast<size_t>(max_length - special);
  pool.parallel_for(static_cast<int64_t>(rows.size()), [&](int64_t begin, int64_t end, int) {
    std::vector<int32_t> ids, word;
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      ids.clear(), word.clear();
      for (size_t w = 0; w < rows[i].size(); ++w) {
        tokenizer.encode_to(rows[i][w], ids, {.add_special_tokens = false});
        word.resize(ids.size(), static_cast<int32_t>(w));
      }
      EncodedWords& to = out[i];
      if ((to.cut = ids.size() > most)) {
        const auto drop = static_cast<std::ptrdiff_t>(ids.size() - most);
        for (std::vector<int32_t>* all : {&ids, &word})
          cut.left ? all->erase(all->begin(), all->begin() + drop)
                   : all->erase(all->end() - drop, all->end());
      }
      to.ids = tokenizer.with_special_tokens(ids).ids;
      to.word.assign(static_cast<size_t>(special - after), -1);
      to.word.insert(to.word.end(), word.begin(), word.end());
      to.word.resize(to.ids.size(), -1);
    }
  });
  return Ok{};
}

}  // namespace hone
