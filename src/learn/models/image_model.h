// Image models: the size of their images, the inputs of their programs, and their labels.
//
//   Program p(op_table(), name);
//   Builder b(p);
//   ModelGraph g(b, config, train ? ModelGraph::Mode::train : ModelGraph::Mode::eval);
//   add_image_inputs(g, images, height, width);
//   add_model_states(g, train);
//   const HeadLayer head = model_head(g);       // x [B,C], weight [labels,C], bias [labels]
//   const ValueId logits = logits_of(b, head);  // [B,labels]
//
// For the loss: ops::linear_cross_entropy (ops.h) takes the HeadLayer and the numbers of the classes;
// ops::soft_cross_entropy (image_ops.h) takes the logits and a share for each class.
//
// Letters: B images, C hidden size.
#pragma once

#include "learn/models/family.h"

namespace hone {

// Whether the model reads images. Its head is then image_classification.
bool reads_images(const ModelConfig& c);

// The images that a model reads.
struct ImageForm {
  int64_t height = 0, width = 0, channels = 0;  // of the images it was made for: 224, 224, 3
  bool any_size = false;                        // true: a program may have another height and width
};
ImageForm image_form(const ModelConfig& c);

// The name of each class: from id2label in config.json or label_names in timm's, else LABEL_0, LABEL_1, ... Their
// number is config_labels().
std::vector<std::string> label_names(const ModelConfig& c);

// The names and shapes of the running statistics of batch norms that training changes, without num_batches_tracked.
// Empty if the model has an adapter: training with an adapter does not change them.
std::vector<std::pair<std::string, Shape>> moved_statistics(const ModelConfig& c);

// H2302: the model does not read images of this size, in pixels.
Status check_image_size(const ModelConfig& c, int64_t height, int64_t width);

// Adds the inputs of a program to its graph and sets them in `g`. `images`: the size B of a batch.
//   pixels       f32[images,height,width,channels], rescaled and normalized
// For training also:
//   image_ids    i64[images]; the number of each image's row in the data, which is part of the key of its random
//                numbers; 0 for unused places of the batch
//   rng          i64[2] = {seed, step}
//   image_count  i32[]; the number of images that are present. They are the first ones of the batch; batch norms
//                ignore the places after them.
// Errors: those of check_image_size().
Status add_image_inputs(ModelGraph& g, int64_t images, int64_t height, int64_t width);

}  // namespace hone
