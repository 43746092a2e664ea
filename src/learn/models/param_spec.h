// The description of one weight of a model: its name and shape, its initial values, and how it is trained and stored.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

struct ParamSpec {
  // The name under which Transformers saves it. A '*' in it is the place of a number: checkpoints have one tensor for
  // each index of the first axis, such as the matrix of each expert (stacked_weights.h).
  std::string name;
  Shape shape;
  // The initial values. normal: mean 0, standard deviation `std`. uniform: from -std to std. log_uniform: the
  // logarithms of uniform numbers from 0.01 to `std`. ones: all are the member `ones`. sinusoids: see
  // sinusoids() in graph.h.
  enum class Init { normal, uniform, log_uniform, zeros, ones, sinusoids } init = Init::normal;
  double std = 0.02;
  bool decay = true;      // weight decay applies; false for biases and norms
  int64_t depth = 0;      // ModelGraph::depth where it is declared
  bool of_head = false;   // belongs to the head; a checkpoint may lack it (NewHead, pretrained.h)
  int64_t zero_row = -1;  // row whose initial values are 0: an embedding's padding token; -1: none
  double ones = 1;        // initial value of Init::ones
  // false: the weight keeps its values and is saved with the model; it is initialized if the checkpoint lacks it.
  bool trained = true;
  // true: the weight is not trained, but the forward pass of training changes it, such as running statistics.
  bool moves = false;
  bool looked_up = false;  // an embedding table: ids look up its rows, and it multiplies nothing
  bool in_out = false;  // a linear layer's matrix is [in,out], a stack [E,in,out]; false: [out,in]
  std::string scheme = {};  // of a quantized weight: its block scheme (quantization.h); "": floats
  bool nested = false;      // of a quantized weight: its scales are quantized to 8 bits
  // The role of the weight if the model has an adapter (adapter.h). Without an adapter all weights are `whole`.
  enum class Part {
    whole,   // trained and saved with the model
    frozen,  // a weight of the model, not trained
    saved,   // a weight of the model that is stored in the adapter's file
    added    // a weight that only the adapter has
  } part = Part::whole;
  bool is_trained() const { return trained && part != Part::frozen; }
  bool of_adapter() const { return part == Part::saved || part == Part::added; }
  // Other names that the weight has in some checkpoints, best first: older names, the other name of a tied weight.
  // Family::other_names adds the names without the body's prefix.
  std::vector<std::string> also = {};
  // For a name with '*': newer checkpoints have one tensor `name` that holds the rows of several such weights; this
  // weight is part number `part` of `parts` (StackedTensor). name "": there is none.
  struct Merged {
    std::string name;
    int64_t part = 0, parts = 1;
  } merged = {};
};

}  // namespace hone
