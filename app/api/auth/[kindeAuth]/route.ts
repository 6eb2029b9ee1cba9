import { handleAuth } from "@kinde-oss/kinde-auth-nextjs/server";

/** login, register, logout, kinde_callback, portal and the rest of the sign-in provider's own routes. */
export const GET = handleAuth();
