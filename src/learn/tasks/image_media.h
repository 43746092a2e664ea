// Collects images of a run for its log (LogMedia): images of the first step as the model gets them; images of wrong
// predictions of each evaluation; and the feature vectors, with small images, of some evaluated rows.
//
//   ImageMedia media(settings, processor, names, evaluated);
//   if (media.wants_batch(step)) media.add_batch(...);      // for each micro-batch of training
//   media.begin_evaluation();                               // at the start of each evaluation
//   media.add_evaluated({.row = 3, ...});                   // for each evaluated row
//   media.end_evaluation(pixels_of, name_of);               // at its end
//   LogMedia log = media.take();
#pragma once

#include <functional>
#include <span>

#include "learn/tasks/image_classification_settings.h"
#include "learn/train/log_media.h"

namespace hone {

// A micro-batch of training as the model gets it. Labels are in `ids` or in `shares`; the other one is empty.
struct MediaBatch {
  std::span<const float> pixels;  // [images, height, width, 3], normalized
  std::span<const int32_t> ids;   // the class of each image; below 0: the image is unreadable
  std::span<const float> shares;  // [images, classes]; all 0: the image is unreadable
  int64_t width = 0, height = 0;  // pixels
  // File names of the first images of the micro-batch. Only images with a name are logged, at most log_images of them.
  std::vector<std::string> files;
};

// The prediction of an evaluated row.
struct MediaPrediction {
  // row: index of the row, from 0. label: its class. prediction: the predicted class.
  int64_t row = 0, label = 0, prediction = 0;
  double probability = 0;           // probability of the predicted class
  std::span<const float> features;  // feature vector (the input of the head); empty: unknown
};

class ImageMedia {
 public:
  // Side of the small images of feature vectors, in pixels.
  static constexpr int64_t kThumbnail = 64;

  // `processor`: the processor of evaluated rows. `names`: names of the classes. `evaluated`: number of evaluated rows;
  // log_embeddings of them are chosen for feature vectors. The settings must outlive this object.
  ImageMedia(const ImageClassificationSettings& s, ImageProcessor processor,
             std::vector<std::string> names, int64_t evaluated);

  // Whether to call add_batch() for a micro-batch of this step. The first call fixes the step: true only for that step,
  // and only until log_images images were added.
  bool wants_batch(int64_t step);
  void add_batch(const MediaBatch& batch);

  // Starts an evaluation: removes the rows that add_evaluated() added before.
  void begin_evaluation();
  // Adds an evaluated row. Keeps at most log_images wrong predictions: those with the highest probabilities.
  void add_evaluated(const MediaPrediction& p);
  // Makes the image of an evaluated row.
  using PixelsOf = std::function<Status(int64_t row, Image& to)>;
  // Makes the images of the wrong predictions and of the rows with feature vectors, for the next take(). If `pixels_of`
  // fails, a wrong prediction is left out, and a row with a feature vector gets an empty image. `name_of`: returns the
  // name of a row's file.
  void end_evaluation(const PixelsOf& pixels_of,
                      const std::function<std::string(int64_t row)>& name_of);

  // Returns the images, texts and vectors that were made since the last call, and removes them here.
  LogMedia take();
  int64_t memory_bytes() const;  // an estimate of the memory that this object needs

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
  std::vector<int64_t> sampled_;  // rows whose feature vectors are logged, ascending
  int64_t first_step_ = -1, batch_count_ = 0;
  std::vector<LoggedImage> batch_images_;
  std::vector<std::string> batch_lines_;
  std::vector<Kept> wrong_;           // wrong predictions, the highest probability first
  std::vector<Kept> points_;          // rows with feature vectors
  std::vector<float> features_;       // feature vectors of points_
  std::vector<int64_t> sprite_rows_;  // the rows of sprite_
  std::string sprite_;  // LoggedEmbeddings::sprite, made again only if sprite_rows_ change
  LogMedia pending_;
};

}  // namespace hone
