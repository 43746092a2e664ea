#include "run/color_flag.h"

#include <algorithm>

#include "base/core/color.h"
#include "base/core/text.h"
#include "base/settings/errors.h"

namespace hone {
namespace {

constexpr std::string_view kColorFlag = "--color";

Status use_color_word(const std::string& word, const std::string& place) {
  const std::vector<std::string>& words = color_words();
  if (const auto it = std::find(words.begin(), words.end(), word); it != words.end()) {
    use_color(static_cast<ColorUse>(it - words.begin()));
    return Ok{};
  }
  const std::string near = nearest_name(word, words);
  return Error(err::kSettingChoice,
               fmt::format("color: '{}' is not one of {}", word, join(words, ", ")))
      .at(place)
      .todo(near.empty() ? "" : fmt::format("did you mean '{}'?", near));
}

}  // namespace

Status take_color(std::vector<std::string>& args) {
  if (const std::string word = environment("HONE_COLOR"); !word.empty())
    HONE_TRY(use_color_word(word, "HONE_COLOR"));
  for (size_t i = 0; i < args.size() && args[i] != "--";) {
    const std::string word = args[i];
    const bool alone = word == kColorFlag;
    if (!alone && !word.starts_with(std::string(kColorFlag) + "=")) {
      ++i;
      continue;
    }
    if (alone && (i + 1 == args.size() || args[i + 1].starts_with("--")))
      return Error(err::kSettingWithoutValue, "--color needs a value: " + join(color_words(), ", "))
          .at(fmt::format("argument {}: --color", i + 1))
          .todo("write --color never");
    HONE_TRY(use_color_word(alone ? args[i + 1] : word.substr(kColorFlag.size() + 1), word));
    const auto at = args.begin() + static_cast<std::ptrdiff_t>(i);
    args.erase(at, at + (alone ? 2 : 1));
  }
  return Ok{};
}

}  // namespace hone
