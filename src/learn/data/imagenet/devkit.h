// Reads the file data/meta.mat of ImageNet's devkit (ILSVRC2012_devkit_t12.tar.gz). meta.mat maps class numbers to
// classes. (Another file of the devkit lists the class numbers of the validation images.)
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

// Maps each class number (ILSVRC2012_ID) to the WordNet id of the class ("n01440764"). `bytes` are those of meta.mat,
// which has the struct `synsets` in the format of MATLAB 5 (MAT-File Format, MathWorks, chapter 1). `name` is the file
// for messages. Errors: H2968 the file does not have this form.
Result<std::map<int64_t, std::string>> classes_of_meta(std::string_view bytes,
                                                       const std::string& name);

// True for "n" followed by eight digits.
bool is_wordnet_id(std::string_view text);

}  // namespace hone
