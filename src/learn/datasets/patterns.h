// Assigns files to splits by their names, by the rules of Hugging Face datasets 5.2 (data_files.py, load.py). `files`
// are always all files of a data set: sorted paths relative to its folder, with '/'.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/core/error.h"

namespace hone {

// SplitPatterns has for each split its name and the globs of its files. SplitFiles has for each split its name and the
// paths of its files. Splits are in the order in which hone lists them.
using SplitPatterns = std::vector<std::pair<std::string, std::vector<std::string>>>;
using SplitFiles = SplitPatterns;

// The files that match a glob. '*', '?' and sets such as [0-9] match inside a file or folder name; '**' between
// slashes matches any number of folders. A glob without these signs is the path of one file. Some files match only if
// the glob names them explicitly: hidden files, README.md, config.json and similar files, and files in folders such as
// __pycache__. With `data_only`, files without the extension of a data format do not match. Errors: H2806 '**' is
// only a part of the name of a folder or file, such as "a**".
Result<std::vector<std::string>> matching_files(const std::string& glob,
                                                std::span<const std::string> files,
                                                bool data_only = true);

// The globs for a data set whose card names none. The first rule that finds files applies:
// data/{split}-00000-of-00001.*; folders named after splits; files named after splits (train, valid, dev, test and
// others as words in the name); all files as split `train`. Empty if there are no files. Errors: H2805 the name of a
// split has characters that are not allowed.
Result<SplitPatterns> default_patterns(std::span<const std::string> files);

// The format that most of the files have, with its name in the library `datasets` ("csv", "json", "parquet", "text",
// "arrow", "imagefolder", ...). If several formats are equally frequent, parquet is preferred. "" if no file has a
// known extension.
std::string common_format(std::span<const std::string> files);
// is_of_format: true if the extension of a file belongs to `format`. hone_reads: true if hone reads `format`. Both take
// the names of common_format().
bool is_of_format(const std::string& file, const std::string& format);
bool hone_reads(const std::string& format);

}  // namespace hone
