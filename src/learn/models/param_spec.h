// One weight of a model, as its family lists it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

// One weight of the checkpoint.
struct ParamSpec {
  std::string name;  // as Transformers saves it
  Shape shape;
  enum class Init { normal, uniform, zeros, ones, sinusoids } init = Init::normal;
  double std = 0.02;      // of the normal distribution; the bound of the uniform one
  bool decay = true;      // weight decay applies (not to biases and norms)
  bool of_head = false;   // a checkpoint of the body alone lacks it: it is then made from the seed
  int64_t zero_row = -1;  // this row begins as zeros (an embedding's padding token)
  double ones = 1;        // initial value of Init::ones
  bool trained = true;  // no: kept and saved as it is, and initialized where a checkpoint lacks it
  bool looked_up = false;   // a table whose rows ids look up: it multiplies nothing
  bool in_out = false;      // of a linear layer: [in,out], else [out,in]
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
};

}  // namespace hone
