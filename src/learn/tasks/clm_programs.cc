#include "learn/tasks/clm_programs.h"

#include "learn/tasks/token_graph.h"

namespace hone {
namespace {

Program build(const ModelConfig& config, const BatchShape& shape, const std::string& name,
              bool train, double label_smoothing) {
  TokenGraph g(config, shape, name, train, {DType::i32, {shape.tokens}});
  return finish_token_loss(g, train, label_smoothing);
}

}  // namespace

Program build_clm_train(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                        double label_smoothing) {
  return build(config, shape, name, true, label_smoothing);
}
Program build_clm_eval(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                       double label_smoothing) {
  return build(config, shape, name, false, label_smoothing);
}

}  // namespace hone
