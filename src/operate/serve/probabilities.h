// Converts logits to probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace hone {

// softmax(logits), computed in double precision. `logits` has the shape [labels], and must not be empty.
inline std::vector<double> probabilities_of(std::span<const float> logits) {
  const auto most = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  std::vector<double> out;
  out.reserve(logits.size());
  double sum = 0;
  for (const float x : logits) sum += out.emplace_back(std::exp(static_cast<double>(x) - most));
  for (double& p : out) p /= sum;
  return out;
}

}  // namespace hone
