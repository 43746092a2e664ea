#include "learn/tokenizers/truncation.h"

#include <algorithm>

#include "learn/tokenizers/text/errors.h"

namespace hone {
namespace {

Error too_short(std::string what) { return Error(err::kSequenceTooShort, std::move(what)); }

}  // namespace

std::optional<Truncation> truncation_named(std::string_view name) {
  if (name == "longest_first" || name == "true") return Truncation::longest_first;
  if (name == "only_first") return Truncation::only_first;
  if (name == "only_second") return Truncation::only_second;
  if (name == "do_not_truncate" || name == "false") return Truncation::do_not_truncate;
  return std::nullopt;
}

Result<KeptLengths> kept_lengths(int64_t first, std::optional<int64_t> second, int64_t special,
                                 const TruncateOptions& options) {
  KeptLengths kept{first, second.value_or(0)};
  if (options.strategy == Truncation::do_not_truncate) return kept;
  const int64_t room = options.max_length - special;
  if (room < 0)
    return too_short(fmt::format("max_length {} is less than the {} special tokens around the {}",
                                 options.max_length, special, second ? "pair" : "text"))
        .todo("raise --max_length, or leave them out with --add_special_tokens false");
  if (room == 0) return KeptLengths{};
  const int64_t too_many = kept.first + kept.second - room;
  if (too_many <= 0) return kept;

  if (options.strategy == Truncation::longest_first) {
    if (!second) return KeptLengths{room, 0};
    int64_t shorter = std::min(kept.first, kept.second);
    int64_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
    if (shorter + longer > room) {
      shorter = room / 2;
      longer = shorter + room % 2;
    }
    return kept.first > kept.second ? KeptLengths{longer, shorter} : KeptLengths{shorter, longer};
  }
  const bool cuts_first = options.strategy == Truncation::only_first;
  if (!cuts_first && !second)
    return too_short(fmt::format("only_second is to cut {} tokens to {}, but there is one text",
                                 kept.first + special, options.max_length))
        .todo("use longest_first or only_first for single texts");
  int64_t& cut = cuts_first ? kept.first : kept.second;
  if (cut <= too_many)
    return too_short(fmt::format("{} cannot cut a pair of {} and {} tokens to max_length {}",
                                 cuts_first ? "only_first" : "only_second", kept.first, kept.second,
                                 options.max_length))
        .todo("use longest_first, which cuts both, or raise --max_length");
  cut -= too_many;
  return kept;
}

}  // namespace hone
