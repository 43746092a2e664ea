// Converts logits to probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace hone {

// softmax(logits) of one row [labels], which must not be empty, in double precision.
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
