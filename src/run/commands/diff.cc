// hone diff A B: the first tensor, in the order of computation, in which two files differ
// (docs/tracing.md). Exit status 1 when one does.
#include <cmath>
#include <set>

#include "base/core/json.h"
#include "learn/checkpoint/open_weights.h"
#include "run/commands/command.h"

namespace hone {
namespace {

struct DiffSettings {
#define HONE_SETTINGS "run/commands/diff.def"
#include "base/settings/fields.inc"
};

struct Departure {
  std::string name;
  double relative = 0;         // largest difference / largest magnitude; infinite for NaN or shapes
  double magnitude = 0;        // largest magnitude in A
  std::vector<int64_t> index;  // where the largest difference is
  double first = 0, second = 0;  // the values there
  std::string shapes;            // set when the shapes differ
};

// Names of A in the order of its metadata entry `order`, those it leaves out after them.
std::vector<std::string> names_in_order(const WeightSource& a) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (a.find(name) != nullptr && seen.insert(name).second) names.push_back(name);
  };
  if (const auto it = a.metadata().find("order"); it != a.metadata().end()) {
    const Result<Json> order = parse_json(it->second, "order");
    if (order.ok() && order->is_array()) {
      for (const Json& name : *order) {
        if (name.is_string()) add(name.get<std::string>());
      }
    }
  }
  std::vector<TensorInfo> rest = a.tensors();
  std::stable_sort(rest.begin(), rest.end(),
                   [](const TensorInfo& x, const TensorInfo& y) { return x.offset < y.offset; });
  for (const TensorInfo& t : rest) add(t.name);
  return names;
}

Result<std::vector<double>> values_of(const WeightSource& file, const TensorInfo& t) {
  std::vector<double> v(static_cast<size_t>(t.type.count()));
  if (is_float(t.type.dtype)) {
    HONE_TRY(file.read(t.name, DType::f64, std::as_writable_bytes(std::span(v))));
    return v;
  }
  std::vector<int64_t> whole(v.size());
  HONE_TRY(file.read(t.name, DType::i64, std::as_writable_bytes(std::span(whole))));
  std::copy(whole.begin(), whole.end(), v.begin());
  return v;
}

Result<Departure> compare(const WeightSource& a, const WeightSource& b, const std::string& name,
                          double floor) {
  const TensorInfo &ta = *a.find(name), &tb = *b.find(name);
  Departure d{.name = name,
              .relative = 0,
              .magnitude = 0,
              .index = {},
              .first = 0,
              .second = 0,
              .shapes = ""};
  if (ta.type.count() != tb.type.count()) {
    d.relative = INFINITY;
    d.shapes = fmt::format("{} and {}", text_of(ta.type.shape), text_of(tb.type.shape));
    return d;
  }
  const std::vector<double> x = HONE_TRY(values_of(a, ta)), y = HONE_TRY(values_of(b, tb));
  double most = -1;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i])) d.magnitude = std::max(d.magnitude, std::abs(x[i]));
    const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    const double apart = same ? 0 : std::abs(x[i] - y[i]);
    const double weight = std::isnan(apart) ? INFINITY : apart;
    if (weight > most) {
      most = weight;
      at = i;
    }
  }
  if (x.empty()) return d;
  d.relative = most / std::max(d.magnitude, floor);
  d.first = x[at];
  d.second = y[at];
  auto rest = static_cast<int64_t>(at);
  for (size_t k = ta.type.shape.size(); k-- > 0;) {
    d.index.insert(d.index.begin(), rest % ta.type.shape[k]);
    rest /= ta.type.shape[k];
  }
  return d;
}

std::string line(const Departure& d, bool departs) {
  if (!d.shapes.empty()) return fmt::format("differs  {}: shapes {}\n", d.name, d.shapes);
  return fmt::format(
      "{:<7}  {}: {:.3g} of its largest magnitude {:.6g}, at {}: {:.9g} and {:.9g}\n",
      departs ? "differs" : "agrees", d.name, d.relative, d.magnitude, text_of(d.index), d.first,
      d.second);
}

Result<int> run_diff(const std::vector<std::string>& args) {
  DiffSettings s;
  Schema schema("hone diff", "find the first tensor in which two files differ");
  s.bind(schema);
  schema.positional("first");
  schema.positional("second");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  const std::unique_ptr<WeightSource> a = HONE_TRY(open_weights(s.first)),
                                      b = HONE_TRY(open_weights(s.second));

  int64_t compared = 0, only_first = 0;
  std::optional<Departure> found;
  double largest = 0;
  std::string text;
  for (const std::string& name : names_in_order(*a)) {
    if (b->find(name) == nullptr) {
      ++only_first;
      continue;
    }
    if (found && !s.all) continue;
    const Departure d = HONE_TRY(compare(*a, *b, name, s.floor));
    const bool departs = !(d.relative <= s.tolerance);
    ++compared;
    if (departs && !found) found = d;
    largest = std::max(largest, d.relative);
    if (departs || s.all) text += line(d, departs);
  }
  int64_t only_second = 0;
  for (const TensorInfo& t : b->tensors()) only_second += a->find(t.name) == nullptr;

  if (s.json) {
    OrderedJson json = {{"equal", !found.has_value()},
                        {"compared", compared},
                        {"only_in_first", only_first},
                        {"only_in_second", only_second}};
    json["first_departure"] = found ? OrderedJson{{"name", found->name},
                                                  {"relative", found->relative},
                                                  {"magnitude", found->magnitude},
                                                  {"index", found->index},
                                                  {"values", {found->first, found->second}}}
                                    : OrderedJson();
    print_out(dump_json(json) + "\n");
  } else {
    if (!found)
      text += fmt::format("agrees   {} tensors within {:.3g}; the largest difference is {:.3g}\n",
                          compared, s.tolerance, largest);
    text += fmt::format("compared {}, only in {}: {}, only in {}: {}\n", compared, s.first,
                        only_first, s.second, only_second);
    print_out(text);
  }
  return found ? kExitUserError : kExitDone;
}

}  // namespace

Command command_diff() {
  return {.name = "diff",
          .summary = "find the first tensor in which two safetensors files differ",
          .run = run_diff};
}

}  // namespace hone
