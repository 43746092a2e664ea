// Images, texts and vectors for the log of a run, in addition to its numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

struct LoggedImage {
  std::string tag;                // "train_images/1"
  std::string png;                // bytes of a PNG file
  int64_t width = 0, height = 0;  // pixels
};

struct LoggedText {
  std::string tag, markdown;
};

// Embeddings of rows with their labels and small images, for TensorBoard's projector.
struct LoggedEmbeddings {
  int64_t width = 0;                             // floats of a row's embedding
  std::vector<float> values;                     // [rows, width]
  std::vector<std::string> columns;              // names of the columns of labels, at least two
  std::vector<std::vector<std::string>> labels;  // [rows][columns]
  // Bytes of a PNG file: a square grid with the image of each row, row by row from the left.
  std::string sprite;
  int64_t image_side = 0;  // width and height of one image in the grid, in pixels

  int64_t rows() const { return std::ssize(labels); }
};

struct LogMedia {
  std::vector<LoggedImage> images;
  std::vector<LoggedText> texts;
  std::optional<LoggedEmbeddings> embeddings;

  bool empty() const { return images.empty() && texts.empty() && !embeddings; }
};

}  // namespace hone
