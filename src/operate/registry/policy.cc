#include "operate/registry/policy.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/core/text.h"
#include "operate/registry/errors.h"

namespace hone {
namespace {

constexpr double kAny = 1e300;

// Reads the members of one object, and refuses those that nobody asked for.
class PolicyReader {
 public:
  PolicyReader(const OrderedJson& object, std::string place)
      : object_(object), place_(std::move(place)) {}

  void number(const char* key, double least, double most, double& to) {
    const OrderedJson* v = take(key);
    if (v == nullptr) return;
    const double value = v->is_number() ? v->get<double>() : std::nan("");
    if (!(value >= least && value <= most))
      return refuse(key, *v,
                    least > -kAny && most < kAny
                        ? fmt::format("a number from {} to {}", least, most)
                    : least > -kAny ? fmt::format("a number of at least {}", least)
                                    : "a number");
    to = value;
  }
  void number(const char* key, double least, double most, std::optional<double>& to) {
    double value = 0;
    if (!object_.contains(key) || object_[key].is_null()) return (void)take(key);
    number(key, least, most, value);
    to = value;
  }
  template <class Whole>
  void whole(const char* key, int64_t least, int64_t most, Whole& to) {
    const OrderedJson* v = take(key);
    if (v == nullptr) return;
    if (!v->is_number_integer() || v->get<int64_t>() < least || v->get<int64_t>() > most)
      return refuse(key, *v, fmt::format("a whole number from {} to {}", least, most));
    to = static_cast<Whole>(v->get<int64_t>());
  }
  void text(const char* key, std::string& to) {
    const OrderedJson* v = take(key);
    if (v != nullptr && !v->is_string()) return refuse(key, *v, "a text");
    if (v != nullptr) to = v->get<std::string>();
  }
  void flag(const char* key, bool& to) {
    const OrderedJson* v = take(key);
    if (v != nullptr && !v->is_boolean()) return refuse(key, *v, "true or false");
    if (v != nullptr) to = v->get<bool>();
  }
  void texts(const char* key, std::vector<std::string>& to) {
    const OrderedJson* v = take(key);
    if (v == nullptr) return;
    const auto is_text = [](const OrderedJson& x) { return x.is_string(); };
    if (!v->is_array() || !std::all_of(v->begin(), v->end(), is_text))
      return refuse(key, *v, "a list of texts");
    to = v->get<std::vector<std::string>>();
  }
  const OrderedJson* object(const char* key) {
    const OrderedJson* v = take(key);
    if (v != nullptr && !v->is_object()) return refuse(key, *v, "an object"), nullptr;
    return v;
  }
  void refuse(const std::string& key, const OrderedJson& value, const std::string& wanted) {
    if (wrong_) return;
    wrong_.emplace(Error(err::kPolicy, fmt::format("'{}' of the policy is {}, not {}", key,
                                                   dump_json(value).substr(0, 80), wanted))
                       .at(place_)
                       .todo("docs/registry.md explains the keys of a policy"));
  }
  void lacks(const std::string& key, const std::string& example) {
    if (!wrong_)
      wrong_.emplace(
          Error(err::kPolicy, fmt::format("the policy has no '{}'", key)).at(place_).todo(example));
  }
  // Unknown keys come first: a misspelt key is the cause of a missing one.
  Status end() {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      const std::string near = nearest_name(key, known_);
      return Error(err::kPolicy, fmt::format("a policy has no key '{}'", key))
          .at(place_)
          .todo(near.empty() ? fmt::format("the keys are {}", fmt::join(known_, ", "))
                             : fmt::format("did you mean '{}'?", near));
    }
    if (wrong_) return std::move(*wrong_);
    return Ok{};
  }

 private:
  const OrderedJson* take(const char* key) {
    known_.emplace_back(key);
    const auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
  }
  const OrderedJson& object_;
  std::string place_;
  std::vector<std::string> known_;
  std::optional<Error> wrong_;
};

}  // namespace

bool lower_is_better(const std::string& metric) {
  // Losses, and costs of a run: parts of names, and last words of them.
  static constexpr std::array<std::string_view, 8> kParts = {
      "loss", "perplexity", "nll", "mse", "error", "memory", "runtime", "seconds"};
  static constexpr std::array<std::string_view, 5> kLast = {"wer", "cer", "ter", "mae", "step_s"};
  const auto is_last = [&](std::string_view word) {
    return metric == word || metric.ends_with("_" + std::string(word));
  };
  return std::any_of(
             kParts.begin(), kParts.end(),
             [&](std::string_view part) { return metric.find(part) != std::string::npos; }) ||
         std::any_of(kLast.begin(), kLast.end(), is_last);
}

std::string bare_metric(const std::string& name) {
  for (const char* prefix : {"eval_", "predict_", "test_"})
    if (name.starts_with(prefix)) return name.substr(std::string_view(prefix).size());
  return name;
}

Result<DecisionPolicy> parse_policy(std::string_view text, const std::string& name) {
  OrderedJson parsed;
  const char* example = "write one like {\"metric\": \"rouge1\", \"floor\": 20}";
  if (trim(text).empty()) return Error(err::kPolicy, "the policy is empty").at(name).todo(example);
  if (const auto fault = parse_json(text, JsonRules(), parsed))
    return Error(err::kPolicy, "the policy is not JSON: " + fault->what)
        .at(fmt::format("{}:{}:{}", name, fault->place.line, fault->place.column))
        .todo(example);
  if (!parsed.is_object())
    return Error(err::kPolicy, "the policy is not a JSON object").at(name).todo(example);
  DecisionPolicy p;
  PolicyReader all(parsed, name);
  all.text("metric", p.metric);
  p.metric = bare_metric(p.metric);
  if (p.metric.empty() && !parsed.contains("metric")) all.lacks("metric", example);
  if (p.metric.empty()) all.refuse("metric", "", "the name of a metric");
  p.higher_is_better = !lower_is_better(p.metric);
  all.flag("higher_is_better", p.higher_is_better);
  all.number("minimum_gain", -kAny, kAny, p.minimum_gain);
  all.number("floor", -kAny, kAny, p.floor);
  all.number("confidence", 0.5, 0.9999, p.confidence);
  all.texts("slices", p.slices);
  all.number("max_slice_loss", 0, kAny, p.max_slice_loss);
  all.whole("bootstrap_samples", 100, 1000000, p.bootstrap_samples);
  all.whole("seed", 0, INT64_MAX, p.seed);
  Status of_parity = Ok{};
  if (const OrderedJson* object = all.object("parity")) {
    PolicyReader parity(*object, name + ": parity");
    parity.whole("rows", 0, INT64_MAX, p.parity_rows);
    parity.number("tolerance", 0, kAny, p.parity_tolerance);
    parity.number("same_texts", 0, 1, p.parity_same_texts);
    parity.text("dtype", p.parity_dtype);
    if (p.parity_dtype != "" && p.parity_dtype != "bf16" && p.parity_dtype != "int8")
      parity.refuse("dtype", p.parity_dtype, "bf16 or int8");
    of_parity = parity.end();
  }
  HONE_TRY(all.end());
  HONE_TRY(std::move(of_parity));
  return p;
}

OrderedJson DecisionPolicy::json() const {
  const auto or_null = [](const std::optional<double>& x) {
    return x ? OrderedJson(*x) : OrderedJson();
  };
  return {{"metric", metric},
          {"higher_is_better", higher_is_better},
          {"minimum_gain", minimum_gain},
          {"floor", or_null(floor)},
          {"confidence", confidence},
          {"slices", slices},
          {"max_slice_loss", or_null(max_slice_loss)},
          {"bootstrap_samples", bootstrap_samples},
          {"seed", seed},
          {"parity",
           {{"rows", parity_rows},
            {"tolerance", or_null(parity_tolerance)},
            {"same_texts", parity_same_texts},
            {"dtype", parity_dtype}}}};
}

}  // namespace hone
