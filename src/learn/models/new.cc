// GTE (Zhang et al. 2024, arXiv 2407.19669) in the form of the code that first came with the models,
// whose model_type is "new" (huggingface.co/Alibaba-NLP/new-impl).
#include "learn/models/gte_blocks.h"

namespace hone {

Family family_new() { return gte_family({.name = "new", .model_types = {{"new", "New"}}}); }

}  // namespace hone
