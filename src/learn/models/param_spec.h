// One weight of a model, as its family lists it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

// One weight of the checkpoint.
struct ParamSpec {
  // As Transformers saves it. A '*' is the place of a number: checkpoints keep one tensor for each row of the
  // first axis, such as the matrix of each expert.
  std::string name;
  Shape shape;
  enum class Init { normal, uniform, log_uniform, zeros, ones, sinusoids } init = Init::normal;
  // Deviation of the normal distribution; bound of the uniform one; log_uniform: logarithms of numbers between
  // 0.01 and this one.
  double std = 0.02;
  bool decay = true;      // weight decay applies (not to biases and norms)
  int64_t depth = 0;      // ModelGraph::depth where it is declared
  bool of_head = false;   // a checkpoint of the body alone lacks it: it is then made from the seed
  int64_t zero_row = -1;  // this row begins as zeros (an embedding's padding token)
  double ones = 1;        // initial value of Init::ones
  bool trained = true;  // no: kept and saved as it is, and initialized where a checkpoint lacks it
  bool moves = false;   // not trained, and changed by the training forward pass: running statistics
  bool looked_up = false;   // a table whose rows ids look up: it multiplies nothing
  bool in_out = false;      // of a linear layer: [in,out], else [out,in]; of a stack [E,in,out]
  std::string scheme = {};  // its form in blocks (quantization.h); "": f32
  bool nested = false;      // its scales in 8 bits
  // The role of the weight under an adapter (adapter.h). Without one all are `whole`.
  enum class Part {
    whole,   // trained and saved with the model
    frozen,  // the model's, not trained
    saved,   // the model's, in the adapter's file
    added    // the adapter's own: no model's checkpoint has it
  } part = Part::whole;
  bool is_trained() const { return trained && part != Part::frozen; }
  bool of_adapter() const { return part == Part::saved || part == Part::added; }
  // Other names under which checkpoints keep it (older spellings, the other side of a tie), best
  // first; Family::other_names adds those without the body's prefix.
  std::vector<std::string> also = {};
  // A tensor of newer checkpoints that holds the rows of several weights with '*', this one's the part-th of
  // `parts`. "": there is none.
  struct Merged {
    std::string name;
    int64_t part = 0, parts = 1;
  } merged = {};
};

}  // namespace hone
