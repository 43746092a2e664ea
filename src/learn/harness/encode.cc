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

}  // namespace hone
