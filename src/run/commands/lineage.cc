#include "run/commands/lineage.h"

namespace hone {

std::string learning_rate_of(const OrderedJson& settings) {
  const OrderedJson& rate = value_at(settings, "learning_rate");
  return rate.is_number() ? fmt::format("{:.6g}", rate.get<double>()) : "";
}

}  // namespace hone
