/** Set for the moment of the sign-out that ends a deletion: the start page says then what has been done. */
export const DELETED_COOKIE = "holdfast-account-deleted";
