#include "engine/plan/op_speeds.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/cost.h"

namespace hone {
namespace {

// The letters of a product: t where an operand is read with its last two dims swapped.
std::string product_kind(const NodeView& n) {
  const bool linear = n.node.op->name == "linear";
  const bool x = !linear && n.attrs().flag("trans_x");
  const bool y = n.attrs().flag(linear ? "trans_w" : "trans_y");
  return fmt::format("matmul.{}{}", x ? 't' : 'n', y ? 't' : 'n');
}

}  // namespace

double KindSpeed::seconds(const Cost& cost) const {
  const double place =
      std::log(std::max(cost.bytes, 1.0) / kNearBytes) / std::log(kFarBytes / kNearBytes);
  const double byte_s = near_byte_s + std::clamp(place, 0.0, 1.0) * (far_byte_s - near_byte_s);
  return cost.flops * flop_s + cost.bytes * byte_s;
}

std::string OpSpeeds::kind_of(const NodeView& n) {
  const std::string& op = n.node.op->name;
  std::string kind = op == "linear" || op == "matmul" ? product_kind(n) : op;
  if (n.attrs().real("dropout") > 0) kind += ".dropout";
  if (n.attrs().flag("bf16")) kind += ".bf16";
  return kind;
}

const KindSpeed* OpSpeeds::find(const std::string& kind) const {
  const auto it = of_.find(kind);
  return it == of_.end() ? nullptr : &it->second;
}

double OpSpeeds::seconds_of(const NodeView& n) const {
  const Cost cost = cost_of(n);
  if (cost.flops == 0 && cost.bytes == 0) return 0;
  const KindSpeed* speed = find(kind_of(n));
  if (!speed && n.node.op->product)
    speed = find(n.attrs().flag("bf16") ? "matmul.nn.bf16" : "matmul.nn");
  if (!speed) speed = find("add");
  if (!speed) return 0;
  double seconds = speed->seconds(cost);
  if (!n.node.op->product) return seconds;
  // An activation on the result of a product costs its arithmetic: it is in the cache.
  if (const std::string act = n.attrs().text("act", "none"); act != "none")
    if (const KindSpeed* applied = find(act))
      seconds += 2.0 * static_cast<double>(n.out(0).bytes()) * applied->near_byte_s;
  return seconds;
}

OrderedJson OpSpeeds::json() const {
  OrderedJson j = OrderedJson::object();
  for (const auto& [kind, s] : of_) j[kind] = {s.flop_s, s.near_byte_s, s.far_byte_s};
  return j;
}

OpSpeeds OpSpeeds::from_json(const Json& j) {
  OpSpeeds speeds;
  if (!j.is_object()) return speeds;
  for (const auto& [kind, s] : j.items()) {
    const auto valid = [](const Json& x) {
      return x.is_number() && std::isfinite(x.get<double>()) && x.get<double>() >= 0;
    };
    if (s.is_array() && s.size() == 3 && std::all_of(s.begin(), s.end(), valid))
      speeds.set(kind, {s[0].get<double>(), s[1].get<double>(), s[2].get<double>()});
  }
  return speeds;
}

}  // namespace hone
