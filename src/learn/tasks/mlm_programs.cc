#include "learn/tasks/mlm_programs.h"

#include "learn/tasks/token_graph.h"

namespace hone {

Program build_mlm(const ModelConfig& config, const BatchShape& shape, int64_t label_rows,
                  const std::string& name, bool train, double label_smoothing) {
  const Type per_label{DType::i32, {label_rows}};
  TokenGraph g(config, shape, name, train, per_label);
  g.model.label_rows = g.program.add_input("label_rows", per_label);
  return finish_token_loss(g, train, label_smoothing);
}

}  // namespace hone
