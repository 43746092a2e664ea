// Images, texts and vectors for the log of a run, beside its numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

struct LoggedImage {
  std::string tag;  // "train_images/1"
  std::string png;
  int64_t width = 0, height = 0;
};

struct LoggedText {
  std::string tag, markdown;
};

// Vectors of rows with their labels and small images.
struct LoggedEmbeddings {
  int64_t width = 0;                             // floats of a row
  std::vector<float> values;                     // [rows, width]
  std::vector<std::string> columns;              // names of the labels, at least two
  std::vector<std::vector<std::string>> labels;  // [rows][columns]
  std::string sprite;  // PNG of a square grid: an image of a row after the other
  int64_t image_side = 0;

  int64_t rows() const { return std::ssize(labels); }
};

struct LogMedia {
  std::vector<LoggedImage> images;
  std::vector<LoggedText> texts;
  std::optional<LoggedEmbeddings> embeddings;

  bool empty() const { return images.empty() && texts.empty() && !embeddings; }
};

}  // namespace hone
