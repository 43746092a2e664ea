// bitsandbytes' 8-bit numbers, by a search through all of them (engine/ops/quantize_dynamic.cc).
#include <algorithm>
#include <cmath>

#include "base/core/dynamic_map.h"
#include "engine/backends/reference/numbers.h"

namespace hone::reference {
namespace {

constexpr size_t kBlock = 256;

Numbers map_of(bool is_signed) {
  const std::array<float, 256>& map = dynamic_map(is_signed);
  return {map.begin(), map.end()};
}

double code_of(const Numbers& map, double x) {
  size_t best = 0;
  for (size_t c = 1; c < map.size(); ++c) {
    const double here = std::fabs(x - map[c]), there = std::fabs(x - map[best]);
    if (here < there || (here == there && c % 2 == 0)) best = c;
  }
  if (map[best] == 0 && std::signbit(x)) --best;
  return static_cast<double>(best);
}

void quantize(const Call& c, const KernelArgs& a) {
  const bool is_signed = c.attrs.flag("signed", true);
  const Numbers x = load(a.in[0], c.in[0]), map = map_of(is_signed);
  Numbers codes(x.size(), 0), absmax;
  for (size_t begin = 0; begin < x.size(); begin += kBlock) {
    const size_t end = std::min(x.size(), begin + kBlock);
    double most = 0;
    for (size_t i = begin; i < end; ++i) most = std::max(most, std::fabs(x[i]));
    absmax.push_back(most);
    for (size_t i = begin; i < end && most > 0; ++i) codes[i] = code_of(map, x[i] / most);
  }
  store(codes, a.out[0], c.out[0]);
  store(absmax, a.out[1], c.out[1]);
}

void dequantize_codes(const Call& c, const KernelArgs& a) {
  const Numbers map = map_of(c.attrs.flag("signed", true)), absmax = load(a.in[1], c.in[1]);
  Numbers x = load(a.in[0], c.in[0]);
  for (size_t i = 0; i < x.size(); ++i) x[i] = map[static_cast<size_t>(x[i])] * absmax[i / kBlock];
  store(x, a.out[0], c.out[0]);
}

}  // namespace

void add_dynamic_codes(Table& t) {
  t["quantize_dynamic"] = quantize;
  t["dequantize_dynamic"] = dequantize_codes;
}

}  // namespace hone::reference
