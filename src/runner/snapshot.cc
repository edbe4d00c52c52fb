#include "runner/snapshot.h"
