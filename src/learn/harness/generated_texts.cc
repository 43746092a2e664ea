#include "learn/harness/generated_texts.h"

#include <limits>

#include "base/core/text.h"

namespace hone {

void GeneratedLengths::add(std::span<const int32_t> start, std::span<const int32_t> tokens) {
  ++texts_;
  for (const auto& part : {start, tokens})
    for (const int32_t id : part) tokens_ += id != pad_;
}

double GeneratedLengths::mean() const {
  return texts_ == 0 ? std::numeric_limits<double>::quiet_NaN()
                     : static_cast<double>(tokens_) / static_cast<double>(texts_);
}

std::string prediction_line(std::string text, const Tokenizer& tokenizer) {
  constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
      {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  if (!tokenizer.parts().model->byte_level())
    for (const auto& [from, to] : kReplaced)
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
  return std::string(trim(text));
}

}  // namespace hone
