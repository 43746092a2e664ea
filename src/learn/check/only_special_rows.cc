#include "learn/check/only_special_rows.h"

#include <algorithm>

#include "learn/train/errors.h"
#include "learn/train/idle_steps.h"

namespace hone {

Status check_special_rows(std::span<const TokenRows> axes, const Tokenizer& tokenizer,
                          const TrainSettings& s) {
  const auto is_special = [&](int32_t id) { return tokenizer.is_special(id); };
  for (const TokenRows& axis : axes)
    for (int64_t i = 0; i < axis.size(); ++i)
      if (const auto ids = axis.row(i); !std::all_of(ids.begin(), ids.end(), is_special))
        return Ok{};
  if (axes.empty() || axes[0].size() == 0 || s.allows(kAllowSpecialTokens)) return Ok{};
  Error e(err::kNothingLearnt,
          fmt::format("all {} training rows have nothing but special tokens", axes[0].size()));
  if (const std::string place = axes[0].place_text(0); !place.empty()) e.at("first " + place);
  return std::move(e.todo(fmt::format(
      "check the column of the text, and the tokenizer; to train all the same, add --allow {}",
      kAllowSpecialTokens)));
}

}  // namespace hone
