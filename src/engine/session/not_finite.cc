#include "engine/session/not_finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone {

NotFinite count_not_finite(const Type& type, const void* data) {
  NotFinite found;
  found.elements = type.count();
  found.shape = type.shape;
  const int64_t slice =
      type.shape.empty() ? 1 : found.elements / std::max<int64_t>(1, type.shape[0]);
  auto count = [&](auto value_at) {
    for (int64_t i = 0; i < found.elements; ++i) {
      if (std::isfinite(value_at(i))) continue;
      if (found.count++ == 0) found.first = i;
      if (const int64_t at = i / slice; found.slices.empty() || found.slices.back() != at)
        found.slices.push_back(at);
    }
  };
  const auto* f64 = static_cast<const double*>(data);
  const auto* f32 = static_cast<const float*>(data);
  const auto* bits = static_cast<const uint16_t*>(data);
  if (type.dtype == DType::f64) count([&](int64_t i) { return f64[i]; });
  if (type.dtype == DType::f32) count([&](int64_t i) { return f32[i]; });
  if (type.dtype == DType::bf16) count([&](int64_t i) { return bf16_to_f32(bits[i]); });
  if (type.dtype == DType::f16) count([&](int64_t i) { return f16_to_f32(bits[i]); });
  return found;
}

std::string NotFinite::text() const {
  // backward "h.3.attn" -> "gradient of block 3, attn"
  std::string place = phase == Phase::backward ? "gradient of " : "", rest = scope;
  while (!rest.empty()) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string part = rest.substr(0, dot);
    rest.erase(0, dot + 1);
    const std::string next = rest.substr(0, rest.find('.'));
    const bool block =  // a list of blocks is followed by a block's number
        !next.empty() && next.find_first_not_of("0123456789") == std::string::npos;
    place += block ? "block " : part + (rest.empty() ? "" : ", ");
  }
  return fmt::format("{}{}{}: {} of {} values", place, place.empty() || op.empty() ? "" : ": ", op,
                     count, elements);
}

}  // namespace hone
