// Reads csv and tsv: records of fields with a separator between them (RFC 4180, with the extensions of pandas).
//
// - A quoted field may contain separators and line breaks, and be as large as the file. Two quotes inside it are one
//   quote. Other bytes are returned unchanged. A quote inside an unquoted field is an ordinary byte. Text between a
//   closing quote and the next separator is appended to the field.
// - A record ends at LF, CR LF or CR. Blank lines and lines of spaces and tabs alone are skipped; in tsv a tab is a
//   separator, so a line of tabs is a record. A byte order mark before the header is skipped.
// - The first record is the header, unless RowOptions::column_names names the columns. A record with fewer fields
//   than the header gets nulls for the others; a record with more fields is an error.
// - tsv: most tsv files are written without quoting. So a field that begins with a quote is a quoted field only if the
//   first later quote that is not doubled is followed by a tab, a line end or the end of the file. Otherwise the quote
//   is an ordinary byte.
#pragma once

#include "learn/data/formats/rows.h"

namespace hone {

// The meaning of a quote at the start of a field: kRfc4180 always begins a quoted field, kWhenBalanced follows the rule
// of tsv above, kNone makes every quote an ordinary byte.
enum class Quoting { kRfc4180, kWhenBalanced, kNone };

// Reads the header and returns a reader of the rows. options.quoted = false replaces `quoting` by kNone.
// Errors: H2105 the file is empty or has only a header; H2106 a malformed record; H2108 text that is not UTF-8. Errors
// of the reader: H2106, H2108 and those of the source.
Result<std::unique_ptr<RowReader>> open_separated(std::unique_ptr<Source> source, char separator,
                                                  Quoting quoting, const RowOptions& options);

}  // namespace hone
