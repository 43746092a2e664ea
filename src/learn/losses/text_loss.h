// Losses for training text embeddings. To add one, add a file x.cc to this folder that defines `TextLoss
// text_loss_x()`. Names, defaults and formulas are those of sentence-transformers 6.
//
// Each row has an embedding in each column: column 0 is the anchor text, column 1 its positive (a text that matches
// it), and later columns its negatives. Programs have room for R rows. If a batch has fewer, the remaining rows are
// empty: they have the weight 0 and do not count.
#pragma once

#include <string>
#include <vector>

#include "engine/ops/ops.h"

namespace hone {

struct TextLossInputs {
  Values columns;             // embeddings f32[R,E] of each column; they need not have length 1
  ValueId labels = kNoValue;  // f32[R]; kNoValue: rows have no label
  ValueId weight = kNoValue;  // f32[R]: 1 for a row of the batch, 0 for an empty row
  // f32[]: factor of the loss. With TextLoss::mean it multiplies the sum over the rows, so 1 / (number of rows) gives
  // the mean. Otherwise it multiplies the one number that the loss computes from all rows.
  ValueId scale = kNoValue;
};

struct TextLossOptions {
  double scale = 20;                // factor of similarities
  double margin = 0;                // its meaning depends on the loss; see the file of the loss
  std::string distance = "cosine";  // or "euclidean", "manhattan"
};

struct TextLoss {
  std::string name;   // name of the class in sentence-transformers
  std::string about;  // one line for --help
  // The smallest and the largest number of text columns.
  int64_t least_columns = 2, most_columns = 2;
  bool labels = false;  // true: each row must have one label
  // True: the loss is a mean over rows. False: it is one number that depends on all rows together.
  bool mean = true;
  // True: the embeddings are computed in mini-batches (GradCache).
  bool in_batches = false;
  double usual_margin = 0;                // default of TextLossOptions::margin
  std::string usual_distance = "cosine";  // default of TextLossOptions::distance
  // Adds the loss, f32[], to the program.
  ValueId (*build)(Builder& b, const TextLossInputs& in, const TextLossOptions& o) = nullptr;
};

std::vector<TextLoss> all_text_loss();  // all losses; generated from the files of this folder
std::vector<std::string> text_loss_names();
const TextLoss* find_text_loss(const std::string& name);  // nullptr: no loss has the name

// sentence-transformers' MatryoshkaLoss. For each i the loss is computed from shortened embeddings: the first dims[i]
// numbers of each embedding, scaled to length 1. The result is the sum over i of weights[i] times this loss.
struct Matryoshka {
  std::vector<int64_t> dims;    // empty: the loss of the whole embeddings, not scaled
  std::vector<double> weights;  // one for each of `dims`; empty: all are 1
};
// Adds the loss, f32[], to the program.
ValueId build_text_loss(Builder& b, const TextLoss& loss, const TextLossInputs& in,
                        const TextLossOptions& o, const Matryoshka& parts);

}  // namespace hone
