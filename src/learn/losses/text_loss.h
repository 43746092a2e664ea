// A loss of the embeddings of texts, and the shelf of losses. A loss is one file of this folder: x.cc defines
// `TextLoss text_loss_x()`. Names, defaults and formulas are those of sentence-transformers 6.
//
// A row has one embedding for each column: an anchor, its positive, negatives. Rows beyond those of a batch have
// the weight 0 and do not count.
#pragma once

#include <string>
#include <vector>

#include "engine/ops/ops.h"

namespace hone {

struct TextLossInputs {
  Values columns;             // [R,E] each, of any length
  ValueId labels = kNoValue;  // f32[R]
  ValueId weight = kNoValue;  // f32[R]: 1 for a row, 0 for none
  ValueId scale =
      kNoValue;  // f32[]: factor of the loss: of its sum over rows, or of the loss of all rows
};

struct TextLossOptions {
  double scale = 20;  // factor of similarities
  double margin = 0;
  std::string distance = "cosine";  // or "euclidean", "manhattan"
};

struct TextLoss {
  std::string name;                             // of sentence-transformers' class
  std::string about;                            // one line for --help
  int64_t least_columns = 2, most_columns = 2;  // columns of texts
  bool labels = false;                          // rows have a label
  bool mean = true;         // the loss is a mean over rows; false: one number for all rows
  bool in_batches = false;  // computes embeddings in mini-batches (GradCache)
  double usual_margin = 0;
  std::string usual_distance = "cosine";
  // The loss f32[], with gradients.
  ValueId (*build)(Builder& b, const TextLossInputs& in, const TextLossOptions& o) = nullptr;
};

std::vector<TextLoss> all_text_loss();  // generated from the folder
std::vector<std::string> text_loss_names();
const TextLoss* find_text_loss(const std::string& name);  // null: there is none

// MatryoshkaLoss: the sum of the loss of the first `dims[i]` numbers of each embedding, scaled to length 1, times
// weights[i] (1 if there are none). Without dims the loss of whole embeddings.
struct Matryoshka {
  std::vector<int64_t> dims;
  std::vector<double> weights;
};
ValueId build_text_loss(Builder& b, const TextLoss& loss, const TextLossInputs& in,
                        const TextLossOptions& o, const Matryoshka& parts);

}  // namespace hone
