// Reads data/meta.mat of ILSVRC2012_devkit_t12.tar.gz, which has the class for each class number. (The devkit also
// has a list of the class numbers of the validation images.)
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

// Maps ILSVRC2012_ID, the class number, to the WordNet id of the class ("n01440764"), from the bytes of meta.mat: the
// struct `synsets` in the format of MATLAB 5 (MAT-File Format, MathWorks, chapter 1). `name` is the file for messages.
// Errors: H2968 the file does not have this form.
Result<std::map<int64_t, std::string>> classes_of_meta(std::string_view bytes,
                                                       const std::string& name);

// True for "n" followed by eight digits.
bool is_wordnet_id(std::string_view text);

}  // namespace hone
