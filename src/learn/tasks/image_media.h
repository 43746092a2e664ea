// Images of a run for its log (LogMedia): those of the first step as the model gets them, wrong predictions of each
// evaluation, and vectors of evaluated rows.
//
//   ImageMedia media(settings, processor, names, evaluated);
//   if (media.wants_batch(step)) media.add_batch(...);      // a micro-batch of the first step
//   media.begin_evaluation();
//   media.add_evaluated({.row = 3, ...});                   // each labelled row
//   media.end_evaluation(pixels_of, name_of);
//   LogMedia log = media.take();
#pragma once

#include <functional>
#include <span>

#include "learn/tasks/image_classification_settings.h"
#include "learn/train/log_media.h"

namespace hone {

// A micro-batch of training as the model gets it.
struct MediaBatch {
  std::span<const float> pixels;  // [images, height, width, 3]
  std::span<const int32_t> ids;   // a class for each image, or empty
  std::span<const float> shares;  // [images, classes], or empty
  int64_t width = 0, height = 0;
  std::vector<std::string> files;  // of the first images, which are logged
};

// The prediction of an evaluated row.
struct MediaPrediction {
  int64_t row = 0, label = 0, prediction = 0;
  double probability = 0;           // of the prediction
  std::span<const float> features;  // before the head, or empty
};

class ImageMedia {
 public:
  static constexpr int64_t kThumbnail = 64;  // pixels of a side of the images of vectors

  // `evaluated`: number of evaluated rows. The settings must outlive it.
  ImageMedia(const ImageClassificationSettings& s, ImageProcessor processor,
             std::vector<std::string> names, int64_t evaluated);

  // True in the first step that it is asked for, until log_images images were added.
  bool wants_batch(int64_t step);
  void add_batch(const MediaBatch& batch);

  void begin_evaluation();
  void add_evaluated(const MediaPrediction& p);
  using PixelsOf = std::function<Status(int64_t row, Image& to)>;
  // Makes the images of the kept rows. Rows whose pixels cannot be made are left out.
  void end_evaluation(const PixelsOf& pixels_of,
                      const std::function<std::string(int64_t row)>& name_of);

  // The images since the last call.
  LogMedia take();
  int64_t memory_bytes() const;

 private:
  struct Kept {
    int64_t row, label, prediction;
    double probability;
  };
  std::string class_name(int64_t label) const { return names_[static_cast<size_t>(label)]; }
  std::string labels_of(const MediaBatch& batch, size_t image) const;
  void add_wrong(const PixelsOf& pixels_of, const std::function<std::string(int64_t)>& name_of);
  void add_embeddings(const PixelsOf& pixels_of,
                      const std::function<std::string(int64_t)>& name_of);
  std::string sprite_of(const std::vector<int64_t>& rows, const PixelsOf& pixels_of) const;

  const ImageClassificationSettings& s_;
  ImageProcessor processor_;
  std::vector<std::string> names_;
  std::vector<int64_t> sampled_;  // rows with vectors, ascending
  int64_t first_step_ = -1, batch_count_ = 0;
  std::vector<LoggedImage> batch_images_;
  std::vector<std::string> batch_lines_;
  std::vector<Kept> wrong_;  // the highest probability first
  std::vector<Kept> points_;
  std::vector<float> features_;  // of points_
  std::vector<int64_t> sprite_rows_;
  std::string sprite_;
  LogMedia pending_;
};

}  // namespace hone
