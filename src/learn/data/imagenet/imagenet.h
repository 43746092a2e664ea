// Prepares ILSVRC2012 (ImageNet) for training from its archives, which are read once from front to back:
//
//   ILSVRC2012_img_train.tar   one tar archive for each of 1,000 classes: n01440764.tar (n01440764_18.JPEG, ...), ...
//   ILSVRC2012_img_val.tar     ILSVRC2012_val_00000001.JPEG, ...
//
// <output_dir>/imagenet.json records the finished parts. A killed run continues after the last finished class, or the
// last finished 1,000 validation images. Its files have the same bytes as those of a run that was not killed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/core/error.h"

namespace hone {

struct ImageNetRequest {
  std::string train_tar, val_tar;  // paths or URLs; "": this split is left out
  // The file with the classes of the validation images. If val_tar is set, set one of the two: classes_of_boxes() reads
  // val_boxes, classes_of_list() reads val_labels (validation_classes.h). Not used without val_tar.
  std::string val_boxes, val_labels;
  std::string output_dir;  // must exist; no other process may write there
  // true: write WebDataset archives; false: write a folder for each class.
  bool shards = false;
  // true: fail unless the archives have all classes and images of ILSVRC2012; false: accept a part of them.
  bool expects_all = true;
  int writers = 16;  // files written at a time, if `shards` is false
  // Called on the calling thread after each group of images (image_sink.h), with "train" or "validation" and the number
  // of images of this split so far. If it returns true, the work stops; a later prepare_imagenet() with the same
  // request continues. If it returns an Error, prepare_imagenet() returns that Error. May be null.
  std::function<Result<bool>(const std::string& split, int64_t images)> progress;
};

struct ImageNetPrepared {
  int64_t train_images = 0, validation_images = 0, classes = 0;
  bool stopped = false;    // progress returned true
  bool was_there = false;  // everything was prepared before the call
};

// Writes output_dir/train/<class>/<image> and output_dir/validation/<class>/<image>; with `shards` train/<class>.tar
// and validation/<number>.tar of 1,000 images each. Holds about 64 MiB of images in memory. Errors: H2966 a damaged
// archive; H2967 classes or images are missing; H2968 a validation image without a class; H2969 the folder was
// started from other archives; those of the stores.
Result<ImageNetPrepared> prepare_imagenet(const ImageNetRequest& request);

}  // namespace hone
