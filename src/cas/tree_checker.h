// TreeChecker: whether bytes are a tree manifest, by the rules of decode_tree(), without keeping them: fed piece by
// piece it holds one line, the paths that the last one begins with, and the links. For those who hand a manifest on and
// do not use it. Not thread-safe.
#pragma once

#include "cas/tree.h"

namespace lathe::cas {

class TreeChecker {
 public:
  // An error is final: the same as decode_tree() gives for the whole.
  base::Result<void> feed(std::string_view bytes);
  base::Result<void> finish();

 private:
  base::Result<void> take_line(std::string_view line);

  std::string rest_;  // the beginning of a line that goes on in the next piece
  std::string last_path_;
  std::vector<std::string> beginnings_;  // earlier paths that the last one begins with, each the beginning of the next
  Tree links_;
  std::uint64_t bytes_ = 0;
  std::size_t lines_ = 0;
};

}  // namespace lathe::cas
