// Matrices that are kept in few bits, element by element.
#include <cmath>

#include "engine/backends/reference/numbers.h"
#include "engine/ops/block_schemes.h"

namespace hone::reference {
namespace {

// The scale of each group of elements.
Numbers scales_of(const Call& c, const KernelArgs& a) {
  Numbers scales = load(a.in[1], c.in[1]);
  if (c.in[1].dtype != DType::u8) return scales;
  const Numbers nested = load(a.in[2], c.in[2]), offset = load(a.in[3], c.in[3]);
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] = static_cast<double>(dynamic_code()[static_cast<size_t>(scales[i])]) *
                    nested[i / static_cast<size_t>(kNestedBlock)] +
                offset[0];
  return scales;
}

void dequantize(const Call& c, const KernelArgs& a) {
  const BlockScheme& scheme = *block_scheme(c.attrs.text("scheme"));
  const auto* payload = static_cast<const uint8_t*>(a.in[0]);
  const auto columns = static_cast<size_t>(c.out[0].shape[1]);
  Numbers x(static_cast<size_t>(c.out[0].count()));
  const Numbers scales = scales_of(c, a);
  for (size_t i = 0; i < x.size(); ++i) {
    if (scheme.code == nullptr) {
      x[i] = static_cast<double>(static_cast<int8_t>(payload[i])) * scales[i / columns] / 127;
      continue;
    }
    const int code = i % 2 == 0 ? payload[i / 2] >> 4 : payload[i / 2] % 16;
    x[i] = static_cast<double>(scheme.code[code]) * scales[i / static_cast<size_t>(scheme.scaled)];
  }
  store(x, a.out[0], c.out[0]);
}

}  // namespace

void add_blocks(Table& t) { t["dequantize"] = dequantize; }

}  // namespace hone::reference
