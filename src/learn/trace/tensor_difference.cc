#include "learn/trace/tensor_difference.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/core/json.h"

namespace hone {
namespace {

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

}  // namespace

Result<TensorDifference> compare_tensors(const WeightSource& a, const WeightSource& b,
                                         const std::string& name, double floor) {
  const TensorInfo &ta = *a.find(name), &tb = *b.find(name);
  TensorDifference d{.name = name};
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

}  // namespace hone
