// Adafactor (Shazeer and Stern 2018, arXiv 1804.04235) as Transformers' Trainer makes it: no
// momentum, the learning rate as given, squares by row and column of matrices.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_adafactor() {
  return {.names = {"adafactor"},
          .op = "adafactor",
          .fixed = {{"eps", 1e-30}},
          .arguments = {{"clip_threshold", 1.0, 0}, {"decay_rate", -0.8}},
          .states =
              [](const Attrs&) {
                StateList rows = [](const Type& weight) -> std::optional<OptimizerState> {
                  if (weight.rank() < 2) return OptimizerState{"exp_avg_sq", weight};
                  Type row = weight;
                  row.shape.pop_back();
                  return OptimizerState{"exp_avg_sq_row", row};
                };
                StateList columns = [](const Type& weight) -> std::optional<OptimizerState> {
                  if (weight.rank() < 2) return std::nullopt;
                  Type column = weight;
                  column.shape.erase(column.shape.end() - 2);
                  return OptimizerState{"exp_avg_sq_col", column};
                };
                return StateLists{rows, columns};
              },
          .updates_bf16 = false,
          .usual_rates = {1e-4, 1e-3}};
}

}  // namespace hone
