// The optimizer step as a program: norm of all gradients, clipping, AdamW over all weights.
//
//   inputs  lr f64[], step i64[] (1 for the first)
//   states  <weight>, grad.<weight> (read), adam.m.<weight>, adam.v.<weight>
//   output  grad_norm f64[], before clipping
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace hone {

struct UpdateWeight {
  std::string name;
  Type type;
  bool decay = true;
};

struct UpdateOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  double max_grad_norm = 1;  // 0: no clipping
};

std::string first_moment_name(const std::string& weight);   // "adam.m." + weight
std::string second_moment_name(const std::string& weight);  // "adam.v." + weight

Program build_update(const std::vector<UpdateWeight>& weights, const UpdateOptions& options);

}  // namespace hone
