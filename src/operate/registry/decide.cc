#include "operate/registry/decide.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "learn/metrics/bootstrap.h"
#include "operate/registry/errors.h"
#include "operate/registry/metric_interval.h"
#include "operate/registry/row_scores.h"

namespace hone {
namespace {

using RowPointers = std::vector<const EvaluatedRow*>;

RowPointers pointers(const Evaluation& e) {
  RowPointers all;
  for (const EvaluatedRow& r : e.rows) all.push_back(&r);
  return all;
}

// The rows of `against` in the order of `version`; the ids are the same.
RowPointers in_order_of(const Evaluation& version, const Evaluation& against) {
  std::unordered_map<std::string_view, const EvaluatedRow*> by_id;
  for (const EvaluatedRow& r : against.rows) by_id[r.id] = &r;
  RowPointers all;
  for (const EvaluatedRow& r : version.rows) all.push_back(by_id.at(r.id));
  return all;
}

// Fewer rows are never certain: the interval of one row has no width.
constexpr int64_t kLeastSliceRows = 10;

constexpr int kDigits = 6;  // of the numbers of a reason
std::string number(double x) {
  return fmt::format("{:.{}g}", x == 0 ? 0.0 : x, kDigits);
}  // no "-0"

// Each value of a column, with the rows that have it.
std::map<std::string, std::vector<size_t>> groups_of(const RowPointers& rows,
                                                     const std::string& column) {
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto it = rows[i]->slices.find(column);
    if (it != rows[i]->slices.end() && it->is_string()) groups[it->get<std::string>()].push_back(i);
  }
  return groups;
}

Error no_slice(const std::string& column) {
  return Error(err::kNoScore, fmt::format("the rows of the evaluation have no column '{}'", column))
      .todo(fmt::format("evaluate with --slice_columns {}", column));
}

// The verdict of the slices. A later slice does not undo an earlier refusal.
struct SliceVerdict {
  std::string verdict = "promote", reason = {};
  OrderedJson evidence = OrderedJson::object();
};

Result<SliceVerdict> judge_slices(const RowPointers& version, const RowPointers& against,
                                  const DecisionPolicy& policy) {
  SliceVerdict out;
  for (const std::string& column : policy.slices) {
    const auto groups = groups_of(version, column);
    if (groups.empty()) return no_slice(column);
    for (const auto& [value, rows] : groups) {
      RowPointers mine, other;
      for (const size_t i : rows) mine.push_back(version[i]), other.push_back(against[i]);
      const PairedComparison c = HONE_TRY(compare_rows(mine, other, policy));
      out.evidence[column][value] = c.json();
      if (!policy.max_slice_loss || out.verdict == "refuse") continue;
      const std::string where =
          fmt::format("where {} is '{}', {} loses {} ({})", column, value, policy.metric,
                      number(-c.gain), interval_text(-c.high, -c.low, c.rows, kDigits));
      if (-c.high > *policy.max_slice_loss && c.rows >= kLeastSliceRows) {
        out.verdict = "refuse";
        out.reason = where;
      } else if (-c.gain > *policy.max_slice_loss && out.verdict == "promote") {
        out.verdict = "hold";
        out.reason = where + "; too few rows to be certain";
      }
    }
  }
  return out;
}

}  // namespace

OrderedJson PairedComparison::json() const {
  return {{"rows", rows},
          {"version", version},
          {"against", against},
          {"gain", gain},
          {"interval", OrderedJson::array({low, high})}};
}

Result<PairedComparison> compare_rows(const RowPointers& version, const RowPointers& against,
                                      const DecisionPolicy& policy) {
  const auto mine = HONE_TRY(row_scores(version, policy.metric)),
             other = HONE_TRY(row_scores(against, policy.metric));
  std::vector<int32_t> times(version.size(), 1);
  PairedComparison c;
  c.rows = static_cast<int64_t>(version.size());
  c.version = HONE_TRY(mine->value(times));
  c.against = HONE_TRY(other->value(times));
  const double sign = policy.higher_is_better ? 1 : -1;
  c.gain = sign * (c.version - c.against);
  std::vector<double> gains;
  for (int64_t sample = 0; sample < policy.bootstrap_samples; ++sample) {
    draw_examples(policy.seed, static_cast<uint64_t>(sample), times);
    const double gain = sign * (HONE_TRY(mine->value(times)) - HONE_TRY(other->value(times)));
    if (!std::isnan(gain)) gains.push_back(gain);
  }
  std::sort(gains.begin(), gains.end());
  c.low = percentile_of_sorted(gains, (1 - policy.confidence) / 2);
  c.high = percentile_of_sorted(gains, (1 + policy.confidence) / 2);
  return c;
}

Result<double> metric_of(const ModelVersion& version, const Evaluation* evaluation,
                         const std::string& metric) {
  std::optional<Error> of_rows;
  if (evaluation != nullptr) {
    const RowPointers rows = pointers(*evaluation);
    const std::vector<int32_t> once(rows.size(), 1);
    auto scores = row_scores(rows, metric);
    if (scores.ok()) return (*scores)->value(once);
    of_rows = std::move(scores.error());
  }
  for (const auto& [key, value] : version.metrics.items())
    if (value.is_number() && (key == metric || bare_metric(key) == metric))
      return value.get<double>();
  if (of_rows) return std::move(*of_rows);
  std::vector<std::string> names;
  for (const auto& [key, value] : version.metrics.items()) names.push_back(bare_metric(key));
  const std::string near = nearest_name(metric, names);
  return Error(err::kNoScore, fmt::format("{} has no metric '{}'", version.reference(), metric))
      .todo(near.empty() ? "evaluate it, and register it with --metrics or --evaluation"
                         : fmt::format("'{}' is there", near));
}

Status check_names(const ModelVersion& version, const Evaluation* evaluation, bool compares,
                   const DecisionPolicy& policy) {
  if (policy.floor || (!compares && evaluation != nullptr))
    HONE_TRY(metric_of(version, evaluation, policy.metric));
  if (!compares) return Ok{};
  HONE_BUG_IF(evaluation == nullptr, "a comparison without rows");
  const RowPointers rows = pointers(*evaluation);
  HONE_TRY(row_scores(rows, policy.metric));
  for (const std::string& column : policy.slices)
    if (groups_of(rows, column).empty()) return no_slice(column);
  return Ok{};
}

std::string differing_rows(const Evaluation& version, const Evaluation& against) {
  std::set<std::string_view> mine, other;
  for (const EvaluatedRow& r : version.rows) mine.insert(r.id);
  for (const EvaluatedRow& r : against.rows) other.insert(r.id);
  if (mine == other) return "";
  const auto of = [](const Evaluation& e) {
    const std::string data = text_at(e.run, "data");
    return fmt::format("{} rows{}", e.rows.size(),
                       data.empty() ? "" : " of data " + data.substr(0, 19));
  };
  std::vector<std::string_view> common;
  std::set_intersection(mine.begin(), mine.end(), other.begin(), other.end(),
                        std::back_inserter(common));
  const std::string both = fmt::format("{} and {}", of(version), of(against));
  // Two versions of a file never share an id, whatever rows they share.
  return common.empty() ? both : fmt::format("{}, {} in common", both, common.size());
}

ParityCheck check_parity(const Evaluation& recorded, const Evaluation& now,
                         const DecisionPolicy& policy) {
  const size_t rows = std::min(recorded.rows.size(), now.rows.size());
  // The rows of `now` may be drawn from those of `recorded`; ids of texts depend on all rows, and are then new.
  std::unordered_map<std::string_view, const EvaluatedRow*> by_id;
  for (const EvaluatedRow& row : recorded.rows) by_id[row.id] = &row;
  size_t same = 0;
  double largest = 0;
  std::string worst;
  for (size_t i = 0; i < rows; ++i) {
    const auto drawn = by_id.find(now.rows[i].id);
    const EvaluatedRow &a = drawn == by_id.end() ? recorded.rows[i] : *drawn->second,
                       &b = now.rows[i];
    const bool equal = a.prediction == b.prediction;
    same += equal ? 1 : 0;
    if (!equal && worst.empty()) worst = a.id;
    const double tokens = std::max(1.0, a.scores.value("tokens", 1.0)),
                 x = a.scores.value("nll", 0.0), y = b.scores.value("nll", 0.0);
    const double difference = std::abs(x - y) / tokens;
    if (difference > largest || std::isnan(difference)) largest = difference;
  }
  ParityCheck check;
  const double share = rows > 0 ? static_cast<double>(same) / static_cast<double>(rows) : 0;
  check.evidence = {{"rows", rows},
                    {"largest_difference", largest},
                    {"same_predictions", same},
                    {"dtype", policy.parity_dtype.empty() ? "as trained" : policy.parity_dtype}};
  check.passed =
      rows > 0 && largest <= policy.allowed_difference() && share >= policy.parity_same_texts;
  if (rows == 0)
    check.reason = "the registered folder gave no rows";
  else if (!(largest <= policy.allowed_difference()))
    check.reason = fmt::format(
        "the log likelihoods of the registered folder differ by up to {} a token from those "
        "of its evaluation, {} are allowed",
        number(largest), number(policy.allowed_difference()));
  else if (!check.passed)
    check.reason =
        fmt::format("the registered folder gives the same text in {} of {} rows only; {} differs",
                    same, rows, worst);
  return check;
}

Result<Decision> decide(const DecisionInput& in, const DecisionPolicy& policy) {
  Decision d{.model = in.version.model, .version = in.version.number};
  d.against = in.against != nullptr ? in.against->number : 0;
  d.evidence = {{"metric", policy.metric}, {"policy", policy.json()}};
  const auto end = [&](const char* verdict, std::string reason) {
    d.verdict = verdict;
    d.reason = std::move(reason);
    if (d.evidence.contains("caution")) d.reason += "; " + in.caution;
    return d;
  };
  const bool is_it = in.against != nullptr && in.against->number == in.version.number;
  const std::string already = fmt::format("{} is {} already", in.version.reference(), in.alias);
  if (is_it && !policy.floor) return end("promote", already);
  if (in.parity) {
    d.evidence["parity"] = in.parity->evidence;
    if (!in.parity->passed) return end("refuse", "parity: " + in.parity->reason);
  }
  if (policy.floor || in.against == nullptr) {
    const auto value = metric_of(in.version, in.evaluation, policy.metric);
    // A version without the metric as the first champion could be compared with none.
    if (!value.ok() && (policy.floor || in.evaluation != nullptr)) return value.error();
    if (value.ok()) d.evidence["value"] = *value;
    if (policy.floor) {
      const double floor = *policy.floor;
      const bool met = policy.higher_is_better ? *value >= floor : *value <= floor;
      if (!met)
        return end("refuse", fmt::format("{} is {}, the floor is {}", policy.metric, number(*value),
                                         number(floor)));
    }
    if (is_it) return end("promote", already);
    if (in.against == nullptr)
      return end("promote",
                 fmt::format("no version is {} yet, and {}", in.alias,
                             !policy.floor ? "the policy has no floor"
                                           : fmt::format("{} {} meets the floor {}", policy.metric,
                                                         number(*value), number(*policy.floor))));
  }
  HONE_BUG_IF(in.evaluation == nullptr || in.against_evaluation == nullptr,
              "a comparison without rows");
  const RowPointers mine = pointers(*in.evaluation),
                    other = in_order_of(*in.evaluation, *in.against_evaluation);
  const PairedComparison c = HONE_TRY(compare_rows(mine, other, policy));
  d.evidence["comparison"] = c.json();
  if (!in.caution.empty()) d.evidence["caution"] = in.caution;
  const SliceVerdict slices = HONE_TRY(judge_slices(mine, other, policy));
  if (!policy.slices.empty()) d.evidence["slices"] = slices.evidence;
  const std::string text = fmt::format(
      "{} {} against {} of {}: gain {} ({})", policy.metric, number(c.version), number(c.against),
      in.against->reference(), number(c.gain), interval_text(c.low, c.high, c.rows, kDigits));
  const std::string wanted = fmt::format("{} is wanted", number(policy.minimum_gain));
  if (!(c.high > policy.minimum_gain))
    return end("refuse", fmt::format("{}; more than {}", text, wanted));
  if (slices.verdict == "refuse") return end("refuse", slices.reason);
  if (!(c.low > policy.minimum_gain))
    return end("hold", fmt::format("{}; more than {}, and these rows cannot tell", text, wanted));
  if (slices.verdict == "hold") return end("hold", slices.reason);
  return end("promote", text);
}

std::vector<std::string> worse_slices(const OrderedJson& evidence) {
  constexpr size_t kMost = 5;
  constexpr int kShown = 4;  // digits
  const auto at = [](const OrderedJson& slice, const char* key) {
    const OrderedJson& value = value_at(slice, key);
    return value.is_number() ? value.get<double>() : 0.0;
  };
  std::vector<std::pair<double, std::string>> worse;  // by gain
  for (const auto& [column, values] : value_at(evidence, "slices").items())
    for (const auto& [value, slice] : values.items())
      if (const double gain = at(slice, "gain"); gain < 0)
        worse.emplace_back(
            gain, fmt::format("worse where {} is '{}': {} {:.{}g} against {:.{}g}, {:.0f} rows",
                              column, value, text_at(evidence, "metric"), at(slice, "version"),
                              kShown, at(slice, "against"), kShown, at(slice, "rows")));
  std::stable_sort(worse.begin(), worse.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::min(worse.size(), kMost); ++i) lines.push_back(worse[i].second);
  if (worse.size() > kMost)
    lines.push_back(fmt::format("and {} more slices are worse", worse.size() - kMost));
  return lines;
}

}  // namespace hone
