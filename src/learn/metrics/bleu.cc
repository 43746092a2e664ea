// bleu: BLEU of the corpus, 0 to 100, with the numbers of sacreBLEU 2.6 (Papineni et al., ACL 2002;
// Post, "A Call for Clarity in Reporting BLEU Scores", WMT 2018): n-grams up to 4, exponential
// smoothing, of several references the length that is closest. With keep_examples 40 bytes an
// example.
#include <cmath>
#include <limits>

#include "learn/metrics/characters.h"
#include "learn/metrics/counted.h"
#include "learn/metrics/interner.h"
#include "learn/metrics/ngrams.h"

namespace hone {
namespace {

constexpr int kOrder = 4;
constexpr double kLogOfZero = -9999999999;

// Counts: length of predictions, of references, matches of each order. The totals of an order
// follow from the lengths only where every text has kOrder words, so they are counts too.
enum {
  kPredicted,
  kExpected,
  kMatches,
  kTotals = kMatches + kOrder,
  kBleuCounts = kTotals + kOrder
};

struct Bleu {
  double score = 0, brevity = 1;
  std::array<double, kOrder> precisions{};
};

Bleu bleu_of(const std::array<int64_t, kBleuCounts>& sums) {
  Bleu b;
  const auto predicted = static_cast<double>(sums[kPredicted]),
             expected = static_cast<double>(sums[kExpected]);
  if (predicted < expected) b.brevity = predicted > 0 ? std::exp(1 - expected / predicted) : 0;
  bool any = false;
  for (int n = 0; n < kOrder; ++n) any = any || sums[static_cast<size_t>(kMatches + n)] > 0;
  if (!any) return b;
  double smooth = 1;
  for (size_t n = 0; n < kOrder; ++n) {
    const auto matches = static_cast<double>(sums[kMatches + n]),
               total = static_cast<double>(sums[kTotals + n]);
    if (total == 0) break;
    if (matches == 0) smooth *= 2;
    b.precisions[n] = matches == 0 ? 100 / (smooth * total) : 100 * matches / total;
  }
  double logs = 0;
  for (const double p : b.precisions) logs += p == 0 ? kLogOfZero : std::log(p);
  b.score = b.brevity * std::exp(logs / kOrder);
  return b;
}

class BleuMetric final : public CountedMetric<kBleuCounts> {
 public:
  explicit BleuMetric(const MetricOptions& o) : CountedMetric(o), tokenizer_(o.bleu_tokenizer) {}

  OrderedJson details() const override {
    const Bleu b = bleu_of(sums());
    OrderedJson json;
    json["signature"] = fmt::format("{}|case:mixed|eff:no|tok:{}|smooth:exp|version:{}",
                                    references_signature(), name_of(tokenizer_), kSacrebleuVersion);
    json["precisions"] = b.precisions;
    json["bp"] = b.brevity;
    json["sys_len"] = sums()[kPredicted];
    json["ref_len"] = sums()[kExpected];
    return json;
  }

 private:
  using Grams = Ngrams<32, kOrder>;

  Counts count(std::string_view prediction, std::span<const std::string_view> references) override {
    if (words_.size() > kKeptWords) words_.clear();
    read(prediction, prediction_);
    if (references_.size() != references.size()) references_.resize(references.size());
    Counts counts{};
    const int64_t length = prediction_.length();
    counts[kPredicted] = length;
    int64_t nearest = std::numeric_limits<int64_t>::max();
    for (size_t r = 0; r < references.size(); ++r) {
      read(references[r], references_[r]);
      const int64_t other = references_[r].length(), off = std::abs(length - other);
      if (off > nearest || (off == nearest && other >= counts[kExpected])) continue;
      nearest = off;
      counts[kExpected] = other;
    }
    for (size_t n = 0; n < kOrder; ++n) {
      counts[kMatches + n] = prediction_.matches(references_, static_cast<int>(n) + 1);
      counts[kTotals + n] = prediction_.total(static_cast<int>(n) + 1);
    }
    return counts;
  }

  MetricValues values_of(const Counts& sums) const override {
    if (examples() == 0) return {{"bleu", std::numeric_limits<double>::quiet_NaN()}};
    return {{"bleu", bleu_of(sums).score}};
  }

  void read(std::string_view text, Grams& grams) {
    const std::string line = bleu_tokenized(text, tokenizer_);
    split_words(line, pieces_);
    ids_.clear();
    for (const std::string_view word : pieces_)
      ids_.push_back(static_cast<uint32_t>(words_.number(word)));
    grams.set(ids_);
  }

  BleuTokenizer tokenizer_;
  Interner words_;  // forgotten when there are kKeptWords, so memory does not grow
  Grams prediction_;
  std::vector<Grams> references_;
  std::vector<std::string_view> pieces_;
  std::vector<uint32_t> ids_;
};

}  // namespace

MetricType metric_bleu() {
  return {"bleu",
          "BLEU of the corpus, 0 to 100, as sacreBLEU",
          MetricInput::kText,
          {"sacrebleu"},
          [](const MetricOptions& o) -> std::unique_ptr<Metric> {
            return std::make_unique<BleuMetric>(o);
          },
          100};
}

}  // namespace hone
