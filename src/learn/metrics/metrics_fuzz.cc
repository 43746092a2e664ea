// Any bytes as a prediction and its references: scores stay in their range, and a text is its own
// best prediction.
#include <cmath>
#include <cstdint>

#include "base/core/text.h"
#include "learn/metrics/metric.h"

using namespace hone;

namespace {

double score(const char* name, const MetricOptions& options, std::string_view prediction,
             std::span<const std::string_view> references, double most) {
  const auto metric = make_metric(name, options);
  (*metric)->add_text(prediction, references);
  const auto values = (*metric)->values();
  for (const MetricValue& v : *values)
    HONE_BUG_IF(!(v.value >= 0 && v.value <= most * (1 + 1e-12)), "{} is {}", v.name, v.value);
  return (*values)[0].value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4000) return 0;
  const std::vector<std::string> parts =
      split(std::string(reinterpret_cast<const char*>(data), size), 0);
  const std::string_view prediction = parts[0];
  std::vector<std::string_view> references(parts.begin() + (parts.size() > 1), parts.end());
  const std::string_view same[] = {prediction};
  MetricOptions options;
  score("rouge", options, prediction, references, 1);
  const double rouge = score("rouge", options, prediction, same, 1);
  HONE_BUG_IF(rouge != 0 && rouge != 1, "rouge of itself is {}", rouge);
  for (size_t t = 0; t < bleu_tokenizer_names().size(); ++t) {
    options.bleu_tokenizer = static_cast<BleuTokenizer>(t);
    score("bleu", options, prediction, references, 100);
  }
  for (options.chrf_word_order = 0; options.chrf_word_order <= 2; ++options.chrf_word_order) {
    score("chrf", options, prediction, references, 100);
    const double chrf = score("chrf", options, prediction, same, 100);
    HONE_BUG_IF(chrf != 0 && std::abs(chrf - 100) > 1e-9, "chrf of itself is {}", chrf);
  }
  return 0;
}
