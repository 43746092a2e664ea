// Models of images on the shelf of families: the form of an image, its inputs, its program.
//
//   Program p(op_table(), name);
//   Builder b(p);
//   ModelGraph g(b, config, train ? ModelGraph::Mode::train : ModelGraph::Mode::eval);
//   add_image_inputs(g, images, height, width);
//   add_model_states(g, train);
//   const HeadLayer head = model_head(g);       // x [B,C], weight [labels,C], bias [labels]
//   const ValueId logits = logits_of(b, head);  // [B,labels]
//
// ops::linear_cross_entropy (ops.h) takes the HeadLayer and class ids,
// ops::soft_cross_entropy (image_ops.h) the logits and shares of classes.
//
// Letters: B images, C hidden size.
#pragma once

#include "learn/models/family.h"

namespace hone {

// Whether the model reads images: `pixels` are its input, image_classification is its head.
bool reads_images(const ModelConfig& c);

// The form of the images that a model reads.
struct ImageForm {
  int64_t height = 0, width = 0, channels = 0;  // that it was made for; 224, 224, 3
  bool any_size = false;  // height and width of a program may differ from these
};
ImageForm image_form(const ModelConfig& c);

// The names of the classes by number: config.json's id2label or label_names (of timm), else LABEL_0,
// LABEL_1, ...; as many as config_labels().
std::vector<std::string> label_names(const ModelConfig& c);

// The running statistics that training moves, name and shape; not the counts of batches. Beside an adapter none moves.
std::vector<std::pair<std::string, Shape>> moved_statistics(const ModelConfig& c);

// H2302 if the model reads images of another size alone, or larger ones.
Status check_image_size(const ModelConfig& c, int64_t height, int64_t width);

// Adds the inputs and sets them in `g`:
//   pixels       f32[images,height,width,channels], rescaled and normalised
// and for training
//   image_ids    i64[images]; a row's number in the data, which names its random numbers; 0 of a row
//                that is not there
//   rng          i64[2] = {seed, step}
//   image_count  i32[]; images that are there: the first ones. Batch norms skip the others.
// Errors: those of check_image_size().
Status add_image_inputs(ModelGraph& g, int64_t images, int64_t height, int64_t width);

}  // namespace hone
