// Prepares ILSVRC2012 from its archives, read once from front to back:
//
//   ILSVRC2012_img_train.tar   n01440764.tar (n01440764_18.JPEG ...) ... of 1,000 classes
//   ILSVRC2012_img_val.tar     ILSVRC2012_val_00000001.JPEG ...
//
// <output_dir>/imagenet.json records the finished parts: a killed run continues with the next class, or the next 1,000 validation
// images, and the files have the same bytes as those of a run that was not killed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/core/error.h"

namespace hone {

struct ImageNetRequest {
  std::string train_tar, val_tar;     // paths or URLs; "": this split is left out
  std::string val_boxes, val_labels;  // one of them, with val_tar (validation_classes.h)
  std::string output_dir;             // exists; nobody else writes there
  bool shards = false;                // WebDataset instead of a folder a class
  bool expects_all = true;            // the number of classes and images of ILSVRC2012
  int writers = 16;                   // files written at a time
  // Called after each group of images; true: stop, the same request continues. An Error ends the work.
  std::function<Result<bool>(const std::string& split, int64_t images)> progress;
};

struct ImageNetPrepared {
  int64_t train_images = 0, validation_images = 0, classes = 0;
  bool stopped = false;
  bool was_there = false;  // nothing was left to do
};

// output_dir/train/<class>/<image> and output_dir/validation/<class>/<image>, or shards train/<class>.tar and
// validation/<number>.tar of 1,000 images. Holds some 64 MiB of images. Errors: H2966 a damaged archive, H2967 classes or images that are
// missing, H2968 a validation image without a class, H2969 the folder was started from other archives; those of the stores.
Result<ImageNetPrepared> prepare_imagenet(const ImageNetRequest& request);

}  // namespace hone
